//! Merges of worktrees.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use swarm_os::LockInterrupt;
use swarm_worktree::{
    Dependencies, MergeCandidate, MergeOutcome, Pruned, Uncommitted, WorktreeError,
};

use crate::fixture::{RepositoryFixture, request, says, slug};

fn work(fixture: &RepositoryFixture, name: &str, file: &str, text: &str) {
    let made = fixture.left(name);
    fixture.write(&made.record.path, file, text);
    fixture.commit(&made.record.path, name);
}

#[test]
fn branches_are_merged_one_at_a_time_and_only_once() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    for name in ["a", "b", "c", "d"] {
        work(&fixture, name, &format!("{name}.new"), "new\n");
    }
    thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let fixture = &fixture;
            scope.spawn(move || fixture.merge(name).unwrap());
        }
    });
    for name in ["a", "b", "c", "d"] {
        assert_eq!(
            fs::read_to_string(repo.join(format!("{name}.new"))).unwrap(),
            "new\n"
        );
        let again = fixture.merge(name).unwrap();
        assert_eq!(again.outcome, MergeOutcome::AlreadyThere);
    }
    assert_eq!(fixture.status(&repo), "");
    assert_eq!(
        fixture.git_in(&repo, &["rev-list", "--merges", "--count", "main"]),
        "3"
    );
}

#[test]
fn a_conflict_names_its_files_and_leaves_the_target_as_it_was() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    work(&fixture, "a", "src/a.txt", "one\nAAA\nthree\n");
    work(&fixture, "b", "src/a.txt", "one\nBBB\nthree\n");
    fixture.merge("a").unwrap();
    let before = fixture.git_in(&repo, &["rev-parse", "main"]);
    let refused = fixture.merge("b").unwrap_err();
    let WorktreeError::Conflict { files, target, .. } = &refused else {
        panic!("{refused}");
    };
    let log = |branch: &str| fixture.git_in(&repo, &["log", "-1", "--format=%h %s", branch]);
    let (theirs, ours) = (log("main"), log("worktree-b"));
    let sides = format!("src/a.txt (main: {theirs}; worktree-b: {ours}); main was not changed");
    says(&refused, &sides);
    assert_eq!(
        (files.as_slice(), target.as_str()),
        (&["src/a.txt".to_owned()][..], "main")
    );
    assert_eq!(fixture.git_in(&repo, &["rev-parse", "main"]), before);
    assert_eq!(fixture.status(&repo), "");
    // As the error says, it is resolved in the worktree.
    let tree = repo.join(".claude/worktrees/b");
    fixture.git_in(&tree, &["merge", "-q", "-s", "ours", "main"]);
    let merged = fixture.merge("b").unwrap();
    assert_eq!(merged.outcome, MergeOutcome::FastForward);
    assert_eq!(
        fs::read_to_string(repo.join("src/a.txt")).unwrap(),
        "one\nBBB\nthree\n"
    );
}

#[test]
fn a_target_checkout_with_uncommitted_changes_is_not_changed() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    work(&fixture, "a", "c.txt", "theirs\n");
    fixture.write(&repo, "b.txt", "mine\n");
    says(
        &fixture.merge("a").unwrap_err(),
        "has uncommitted changes: b.txt",
    );
    fixture.git_in(&repo, &["checkout", "-q", "b.txt"]);
    // An untracked file would be overwritten.
    fixture.write(&repo, "c.txt", "mine\n");
    says(&fixture.merge("a").unwrap_err(), "c.txt");
    assert_eq!(fs::read_to_string(repo.join("c.txt")).unwrap(), "mine\n");
    assert_eq!(fixture.git_in(&repo, &["rev-list", "--count", "main"]), "1");
    fs::remove_file(repo.join("c.txt")).unwrap();
    // Uncommitted changes of the worktree would be missing.
    let tree = repo.join(".claude/worktrees/a");
    fixture.write(&tree, "more.txt", "more\n");
    says(
        &fixture.merge("a").unwrap_err(),
        "uncommitted changes: more.txt",
    );
    fs::remove_file(tree.join("more.txt")).unwrap();
    // If the target is not checked out, only the branch moves.
    fixture.git_in(&repo, &["checkout", "-q", "-b", "elsewhere"]);
    fixture.merge("a").unwrap();
    assert!(!repo.join("c.txt").exists());
    assert_eq!(fixture.git_in(&repo, &["show", "main:c.txt"]), "theirs");
}

fn prepare(fixture: &RepositoryFixture, name: &str) -> Result<MergeCandidate, WorktreeError> {
    let interrupt = LockInterrupt::default();
    // A wait for another merge would be a deadlock of the test.
    interrupt.interrupt();
    let worktrees = fixture.worktrees();
    worktrees.merge_candidate(&fixture.repo(), &slug(name), &interrupt, &|| ())
}

#[test]
fn a_merge_that_waits_for_another_one_reports_it() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    for name in ["a", "b"] {
        work(&fixture, name, &format!("{name}.new"), "new\n");
    }
    let first = prepare(&fixture, "a").unwrap();
    let (reports, reported) = mpsc::channel();
    thread::scope(|scope| {
        let second = scope.spawn(|| {
            let interrupt = LockInterrupt::default();
            let on_wait = || reports.send(()).unwrap();
            let worktrees = fixture.worktrees();
            let candidate = worktrees.merge_candidate(&repo, &slug("b"), &interrupt, &on_wait);
            candidate.unwrap().apply().unwrap()
        });
        let waited = reported.recv_timeout(Duration::from_mins(1));
        first.apply().unwrap();
        waited.unwrap();
        second.join().unwrap();
    });
    assert!(reported.try_recv().is_err(), "reported once");
    assert!(repo.join("b.new").exists());
}

#[test]
fn a_committed_link_does_not_lead_a_merge_outside_of_the_repository() {
    let mut fixture = RepositoryFixture::new();
    let repo = fixture.repo();
    fixture.write(&repo, ".gitignore", "node_modules/\n");
    fixture.commit_file(&repo, "packages/web/package.json", "{}\n", "project");
    for at in ["node_modules", "packages/web/node_modules"] {
        fixture.write(&repo, &format!("{at}/left/index.js"), "left\n");
    }
    fixture.settings.dependencies = Dependencies::None;
    let tree = fixture.left("a").record.path;
    let outside = fixture.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir_all(tree.join("packages/web")).unwrap();
    symlink(&outside, tree.join("packages/web")).unwrap();
    fixture.commit(&tree, "link");
    // The merge is no fast-forward, so it has a scratch checkout.
    fixture.commit_file(&repo, "c.txt", "c\n", "c");
    for dependencies in [
        Dependencies::Auto,
        Dependencies::Copy,
        Dependencies::Symlink,
    ] {
        fixture.settings.dependencies = dependencies;
        let mut candidate = prepare(&fixture, "a").unwrap();
        let scratch = candidate.check_out().unwrap();
        assert_ne!(scratch, tree);
        assert!(scratch.join("packages/web").is_symlink());
        assert!(scratch.join("node_modules/left/index.js").exists());
        let planted = fs::read_dir(&outside).unwrap().count();
        assert_eq!(planted, 0, "{}", dependencies.name());
    }
}

#[test]
fn a_candidate_is_checked_out_for_checks_and_other_merges_wait_for_it() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    for name in ["a", "b"] {
        work(&fixture, name, &format!("{name}.new"), "new\n");
    }
    let mut first = prepare(&fixture, "a").unwrap();
    // A fast-forward has the files of the worktree.
    let own = repo.join(".claude/worktrees/a");
    assert_eq!(first.check_out().unwrap(), own);
    assert!(matches!(
        prepare(&fixture, "b"),
        Err(WorktreeError::Disk(_))
    ));
    assert_eq!(first.apply().unwrap().outcome, MergeOutcome::FastForward);

    // The process of an earlier merge was killed.
    let scratch = repo.join(".claude/worktrees/@merge");
    let path = scratch.to_str().unwrap();
    fixture.git_in(
        &repo,
        &["worktree", "add", "-q", "--detach", path, "main~1"],
    );
    fixture.write(&scratch, "left.txt", "left\n");
    let mut second = prepare(&fixture, "b").unwrap();
    assert_eq!(second.check_out().unwrap(), scratch);
    let has = |name: &str| scratch.join(name).exists();
    assert!(has("a.new") && has("b.new") && !has("left.txt"));
    // Nothing is in the target before the checks have passed.
    assert!(!repo.join("b.new").exists());
    fixture.write(&scratch, "made-by-a-check.txt", "made\n");
    assert_eq!(second.apply().unwrap().outcome, MergeOutcome::MergeCommit);
    assert!(repo.join("b.new").exists() && !repo.join("made-by-a-check.txt").exists());
    assert!(!scratch.exists());
    assert_eq!(fixture.linked(&repo), 2);
    assert_eq!(fixture.status(&repo), "");
}

#[test]
fn a_target_that_moves_during_the_checks_is_not_overwritten() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    work(&fixture, "a", "a.new", "new\n");
    for checked_out in [true, false] {
        let candidate = prepare(&fixture, "a").unwrap();
        let moved = if checked_out {
            fixture.write(&repo, "mine.txt", "mine\n");
            fixture.commit(&repo, "mine")
        } else {
            fixture.git_in(&repo, &["checkout", "-q", "--detach"]);
            fixture.git_in(&repo, &["branch", "-q", "-f", "main", "main~1"]);
            fixture.git_in(&repo, &["rev-parse", "main"])
        };
        let refused = candidate.apply().unwrap_err();
        assert!(
            matches!(refused, WorktreeError::TargetMoved { .. }),
            "{refused}"
        );
        assert_eq!(fixture.git_in(&repo, &["rev-parse", "main"]), moved);
    }
    let again = fixture.merge("a").unwrap();
    assert_eq!(again.outcome, MergeOutcome::FastForward);
}

/// Creates a worktree based on uncommitted changes of `b.txt`.
fn based_on_changes(fixture: &RepositoryFixture) -> std::path::PathBuf {
    let repo = fixture.repo();
    fixture.write(&repo, "b.txt", "b\nhalf a thought\n");
    fixture.write(&repo, "private.txt", "not for others\n");
    let wanted = request(&repo, "a", Some(Uncommitted::Snapshot));
    let made = fixture.worktrees().create(&wanted).unwrap();
    fixture.worktrees().rely_on_life_lock(&made).unwrap();
    made.record.path
}

#[test]
fn uncommitted_changes_that_a_worktree_is_based_on_are_not_merged() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    let tree = based_on_changes(&fixture);
    assert!(tree.join("private.txt").exists());
    let subject = fixture.git_in(&tree, &["log", "-1", "--format=%s"]);
    assert_eq!(subject, "Uncommitted changes that worktree-a is based on");
    for (file, message) in [("c.txt", "one"), ("d.txt", "two")] {
        fixture.write(&tree, file, "new\n");
        fixture.git_in(&tree, &["add", "-A"]);
        fixture.git_in(
            &tree,
            &[
                "commit",
                "-q",
                "-m",
                message,
                "--author",
                "M <m@example.com>",
            ],
        );
    }
    // They block the merge until the user has committed or stashed them, and are not changed.
    says(
        &fixture.merge("a").unwrap_err(),
        "commit or stash them there",
    );
    fixture.git_in(&repo, &["stash", "-q", "-u"]);
    let merged = fixture.merge("a").unwrap();
    assert_eq!(merged.outcome, MergeOutcome::Copied);
    let log = fixture.git_in(&repo, &["log", "--format=%s by %an", "main"]);
    assert_eq!(log, "two by M\none by M\nfirst by A");
    assert_eq!(fs::read_to_string(repo.join("b.txt")).unwrap(), "b\n");
    assert!(repo.join("d.txt").exists() && !repo.join("private.txt").exists());
    fixture.git_in(&repo, &["stash", "pop", "-q"]);
    assert!(repo.join("private.txt").exists());

    // The next merge only applies new commits, although the target has moved.
    fixture.commit(&repo, "my changes");
    let again = fixture.merge("a").unwrap();
    assert_eq!(again.outcome, MergeOutcome::AlreadyThere);
    fixture.commit_file(&tree, "b.txt", "b\nhalf a thought, fixed\n", "three");
    fixture.merge("a").unwrap();
    let subjects = fixture.git_in(&repo, &["log", "--format=%s", "-2", "main"]);
    assert_eq!(subjects, "three\nmy changes");
    assert_eq!(
        fs::read_to_string(repo.join("b.txt")).unwrap(),
        "b\nhalf a thought, fixed\n"
    );
    // Merged commits do not keep the worktree from being removed.
    fixture.remove("a", false).unwrap();
}

#[test]
fn work_on_uncommitted_changes_conflicts_until_they_are_committed() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    let tree = based_on_changes(&fixture);
    fixture.commit_file(&tree, "b.txt", "b\nhalf a thought and more\n", "more");
    fixture.git_in(&repo, &["stash", "-q", "-u"]);
    let refused = fixture.merge("a").unwrap_err();
    let WorktreeError::Conflict { files, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(files, &["b.txt"]);
    assert_eq!(fixture.status(&repo), "");
    fixture.git_in(&repo, &["stash", "pop", "-q"]);
    fixture.commit(&repo, "my changes");
    // As the error says, the target may also be merged into the worktree first.
    fixture.git_in(&tree, &["merge", "-q", "-X", "ours", "-m", "main", "main"]);
    let merged = fixture.merge("a").unwrap();
    assert_eq!(merged.outcome, MergeOutcome::Copied);
    assert_eq!(
        fs::read_to_string(repo.join("b.txt")).unwrap(),
        "b\nhalf a thought and more\n"
    );
    let log = fixture.git_in(&repo, &["log", "--format=%s", "main"]);
    assert!(!log.contains("Uncommitted changes"), "{log}");
}

#[test]
fn i4_a_reset_merge_does_not_count_as_merged() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    let tree = based_on_changes(&fixture);
    fixture.commit_file(&tree, "c.txt", "work\n", "work");
    fixture.git_in(&repo, &["stash", "-q", "-u"]);
    let merged = fixture.merge("a").unwrap();
    assert_eq!(merged.outcome, MergeOutcome::Copied);
    fixture.git_in(&repo, &["reset", "-q", "--hard", "HEAD~1"]);
    let Pruned { gone, kept, .. } = fixture.prune(false);
    assert_eq!((gone.len(), kept.len()), (0, 1));
    assert!(tree.join("c.txt").exists());
    // It can be merged again; then the worktree can be removed.
    let again = fixture.merge("a").unwrap();
    assert_eq!(again.outcome, MergeOutcome::Copied);
    assert!(repo.join("c.txt").exists());
    let Pruned { gone, .. } = fixture.prune(false);
    assert_eq!(gone.len(), 1);
}
