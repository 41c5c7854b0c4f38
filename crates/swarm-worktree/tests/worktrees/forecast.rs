//! Forecasts of conflicts, and diffs of worktrees.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::fixture::{NOW, RepositoryFixture, says, slug};

/// Returns the pairs that conflict, with their files.
fn forecast(fixture: &RepositoryFixture) -> Vec<String> {
    let collisions = fixture.worktrees().forecast(&fixture.repo()).unwrap();
    let lines = collisions.iter().map(|collision| {
        let [one, other] = &collision.worktrees;
        let files = collision.files.join(" ");
        format!("{}+{}: {files}", one.slug, other.slug)
    });
    lines.collect()
}

#[test]
fn a_forecast_names_pairs_that_conflict_and_follows_their_branches() {
    let fixture = RepositoryFixture::new();
    let mut trees = Vec::new();
    for name in ["a", "b", "c", "d"] {
        trees.push(fixture.left(name).record.path);
    }
    fixture.write(&trees[0], "src/a.txt", "one\nAAA\nthree\n");
    assert_eq!(forecast(&fixture), [""; 0]);
    fixture.commit(&trees[0], "a");
    fixture.write(&trees[1], "src/a.txt", "one\nBBB\nthree\n");
    fixture.commit(&trees[1], "b");
    fixture.write(&trees[2], "c.txt", "c\n");
    fixture.commit(&trees[2], "c");
    assert_eq!(forecast(&fixture), ["a+b: src/a.txt"]);
    let stored = fixture.repo().join(".git/swarm/forecast.json");
    let before = fs::metadata(&stored).unwrap().modified().unwrap();
    assert_eq!(forecast(&fixture), ["a+b: src/a.txt"]);
    let after = fs::metadata(&stored).unwrap().modified().unwrap();
    assert_eq!(before, after, "nothing moved");

    fixture.write(&trees[2], "src/a.txt", "one\nCCC\nthree\n");
    fixture.commit(&trees[2], "c too");
    fixture.git_in(&trees[1], &["merge", "-q", "-s", "ours", "worktree-a"]);
    assert_eq!(forecast(&fixture), ["a+c: src/a.txt", "b+c: src/a.txt"]);
}

#[test]
fn a_forecast_has_uncommitted_changes_and_changes_nothing() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    fixture.commit_file(&repo, ".gitignore", "*.log\n", "ignored files");
    let [a, b] = ["a", "b"].map(|name| fixture.left(name).record.path);
    for (tree, text) in [(&a, "AAA"), (&b, "BBB")] {
        fixture.write(tree, "src/a.txt", &format!("one\n{text}\nthree\n"));
        fixture.write(tree, "new.txt", text);
        fixture.write(tree, "ignored.log", text);
        fixture.write(tree, "large.txt", &text.repeat(400_000));
    }
    fs::remove_file(a.join("b.txt")).unwrap();
    let seen = || {
        let git = fixture.git_in(&a, &["rev-parse", "--absolute-git-dir"]);
        let index = fs::read(Path::new(&git).join("index")).unwrap();
        let own = fs::read_dir(repo.join(".git/swarm")).unwrap();
        let own: Vec<_> = own.map(|entry| entry.unwrap().file_name()).collect();
        let views = own
            .iter()
            .filter(|name| name.to_string_lossy().starts_with("view-"));
        let objects = fixture.git_in(&repo, &["count-objects", "-v"]);
        (index, objects, views.count())
    };
    let before = seen();
    assert_eq!(forecast(&fixture), ["a+b: new.txt src/a.txt"]);
    assert_eq!(seen(), before);
    let status = fixture.status(&a);
    assert_eq!(status, "D b.txt\n M src/a.txt\n?? large.txt\n?? new.txt");

    // The deletion conflicts with a change.
    fixture.write(&b, "b.txt", "B\n");
    let files = "a+b: b.txt new.txt src/a.txt";
    assert_eq!(forecast(&fixture), [files]);
    // Files in the middle of a merge have conflict markers.
    let git = fixture.git_in(&a, &["rev-parse", "--absolute-git-dir"]);
    let merges = Path::new(&git).join("MERGE_HEAD");
    fs::write(&merges, "").unwrap();
    assert_eq!(forecast(&fixture), [""; 0]);
    fs::remove_file(merges).unwrap();
    assert_eq!(forecast(&fixture), [files]);
}

#[test]
fn a_change_in_the_second_in_which_the_index_was_written_is_seen() {
    let fixture = RepositoryFixture::new();
    fixture.git_in(&fixture.repo(), &["config", "core.trustCtime", "false"]);
    let past = SystemTime::now() - Duration::from_mins(1);
    let set = |path: &Path| {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(past).unwrap();
    };
    for name in ["a", "b"] {
        let tree = fixture.left(name).record.path;
        let git = fixture.git_in(&tree, &["rev-parse", "--absolute-git-dir"]);
        set(&tree.join("src/a.txt"));
        fixture.git_in(&tree, &["update-index", "--refresh"]);
        // Size and time of the file do not change.
        fixture.write(
            &tree,
            "src/a.txt",
            &format!("one\n{name}{name}{name}\nthree\n"),
        );
        set(&tree.join("src/a.txt"));
        set(&Path::new(&git).join("index"));
    }
    assert_eq!(forecast(&fixture), ["a+b: src/a.txt"]);
}

#[test]
fn a_known_forecast_does_not_read_the_worktrees() {
    let fixture = RepositoryFixture::new();
    let [a, b] = ["a", "b"].map(|name| fixture.left(name).record.path);
    for (tree, text) in [(&a, "AAA"), (&b, "BBB")] {
        fixture.write(tree, "src/a.txt", &format!("one\n{text}\nthree\n"));
    }
    let known = || {
        let collisions = fixture.worktrees().known_forecast(&fixture.repo()).unwrap();
        collisions.len()
    };
    assert_eq!(known(), 0);
    assert_eq!(forecast(&fixture), ["a+b: src/a.txt"]);
    assert_eq!(known(), 1);
    fixture.git_in(&b, &["checkout", "-q", "."]);
    assert_eq!(known(), 1);
    assert_eq!(forecast(&fixture), [""; 0]);
    assert_eq!(known(), 0);
    // Commits are always known.
    fixture.commit(&a, "a");
    fixture.commit_file(&b, "src/a.txt", "one\nBBB\nthree\n", "b");
    assert_eq!(known(), 1);
}

#[test]
fn a_forecast_of_commits_has_no_uncommitted_changes_and_keeps_those_of_the_last_one() {
    let fixture = RepositoryFixture::new();
    let [a, b] = ["a", "b"].map(|name| fixture.left(name).record.path);
    let committed = || {
        let made = fixture.worktrees().committed_forecast(&fixture.repo());
        let collisions = made.unwrap();
        let mut worktrees = collisions.iter().flat_map(|one| &one.worktrees);
        assert!(worktrees.all(|one| !one.uncommitted));
        collisions.len()
    };
    for (tree, text) in [(&a, "AAA"), (&b, "BBB")] {
        fixture.write(tree, "src/a.txt", &format!("one\n{text}\nthree\n"));
    }
    assert_eq!(forecast(&fixture), ["a+b: src/a.txt"]);
    assert_eq!(committed(), 0);
    let known = fixture.worktrees().known_forecast(&fixture.repo()).unwrap();
    assert_eq!(known.len(), 1);
    for tree in [&a, &b] {
        fixture.commit(tree, "work");
        fixture.write(tree, "new.txt", "new\n");
    }
    assert_eq!(forecast(&fixture), ["a+b: src/a.txt"]);
    assert_eq!(committed(), 1);
}

#[test]
fn objects_of_a_killed_forecast_are_removed_by_the_next_one_and_by_prune() {
    let fixture = RepositoryFixture::new();
    fixture.left("a");
    let own = fixture.repo().join(".git/swarm");
    let mut child = Command::new("true").spawn().unwrap();
    let dead = own.join(format!("view-{}-1", child.id()));
    child.wait().unwrap();
    let alive = own.join(format!("view-{}-1", std::process::id()));
    fs::create_dir(&alive).unwrap();
    let prune = |dry| {
        drop(
            fixture
                .worktrees()
                .prune(&fixture.repo(), dry, NOW)
                .unwrap(),
        );
    };
    fs::create_dir_all(dead.join("objects")).unwrap();
    prune(true);
    assert!(dead.exists());
    prune(false);
    assert!(!dead.exists());
    fs::create_dir_all(dead.join("objects")).unwrap();
    assert_eq!(forecast(&fixture), [""; 0]);
    assert!(!dead.exists());
    assert!(alive.exists());
}

#[test]
fn a_long_list_of_files_is_shortened() {
    let fixture = RepositoryFixture::new();
    for name in ["a", "b"] {
        let tree = fixture.left(name).record.path;
        for file in 0..10 {
            fixture.write(&tree, &format!("{file}.txt"), name);
        }
        fixture.commit(&tree, name);
    }
    let collisions = fixture.worktrees().forecast(&fixture.repo()).unwrap();
    assert_eq!(collisions[0].files.len(), 10);
    let expected = "0.txt, 1.txt, 2.txt, 3.txt, 4.txt, 5.txt, 6.txt, 7.txt and 2 more";
    assert_eq!(collisions[0].file_list(), expected);
}

#[test]
fn known_pairs_are_not_merged_again() {
    let mut fixture = RepositoryFixture::new();
    for name in ["a", "b"] {
        let tree = fixture.left(name).record.path;
        fixture.write(&tree, "src/a.txt", name);
        fixture.commit(&tree, name);
    }
    let known = forecast(&fixture);
    assert_eq!(known, ["a+b: src/a.txt"]);
    let git = fixture.path("git-without-merges");
    let script = "#!/bin/sh\ncase \"$*\" in *merge-tree*) exit 99;; esac\nexec git \"$@\"\n";
    let text = fixture.path("script");
    fs::write(&text, script).unwrap();
    // By another process: a child that another test of this process starts meanwhile would inherit the
    // file that is written, and a file that is open for writing cannot be executed.
    let copied = Command::new("cp").arg(&text).arg(&git).status().unwrap();
    assert!(copied.success());
    fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fixture.git = git;
    assert_eq!(forecast(&fixture), known);
    fs::remove_file(fixture.repo().join(".git/swarm/forecast.json")).unwrap();
    fixture.worktrees().forecast(&fixture.repo()).unwrap_err();
}

#[test]
fn a_diff_has_committed_uncommitted_and_new_files_but_not_what_the_target_added() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    let tree = fixture.left("a").record.path;
    fixture.commit_file(&tree, "src/a.txt", "one\nTWO\nthree\n", "work");
    fixture.write(&tree, "b.txt", "B\n");
    fixture.write(&tree, "new.txt", "new\n");
    fixture.write(&tree, "é.txt", "new\n");
    fixture.commit_file(&repo, "theirs.txt", "theirs\n", "theirs");
    let status = fixture.status(&tree);
    let diff = || fixture.worktrees().diff(&repo, &slug("a")).unwrap().diff;
    let shown = diff();
    for line in [
        "-two\n+TWO\n",
        "-b\n+B\n",
        "+++ b/new.txt\n",
        "+++ b/é.txt\n",
    ] {
        says(&shown, line);
    }
    assert!(!shown.contains("theirs"), "{shown}");
    assert_eq!(fixture.status(&tree), status);
    // The target's commits are not its work either after it merged them.
    fixture.commit(&tree, "more");
    fixture.git_in(&tree, &["merge", "-q", "-m", "merge", "main"]);
    assert_eq!(diff(), shown);
}
