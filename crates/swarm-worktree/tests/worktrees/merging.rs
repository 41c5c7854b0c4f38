//! Merging worktrees.

use std::fs;
use std::thread;

use swarm_worktree::{MergeOutcome, Pruned, Uncommitted, WorktreeError};

use crate::scene::{NOW, Scene, request, slug};

fn work(scene: &Scene, name: &str, file: &str, text: &str) {
    let made = scene.left(name);
    scene.write(&made.record.path, file, text);
    scene.commit(&made.record.path, name);
}

#[test]
fn branches_are_merged_one_at_a_time_and_what_is_there_is_not_merged_twice() {
    let scene = Scene::new();
    let repo = scene.repo();
    for name in ["a", "b", "c", "d"] {
        work(&scene, name, &format!("{name}.new"), "new\n");
    }
    thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let (scene, repo) = (&scene, &repo);
            scope.spawn(move || scene.worktrees().merge(repo, &slug(name)).unwrap());
        }
    });
    for name in ["a", "b", "c", "d"] {
        assert_eq!(
            fs::read_to_string(repo.join(format!("{name}.new"))).unwrap(),
            "new\n"
        );
        let again = scene.worktrees().merge(&repo, &slug(name)).unwrap();
        assert_eq!(again.outcome, MergeOutcome::AlreadyThere);
    }
    assert_eq!(scene.status(&repo), "");
    assert_eq!(
        scene.git_in(&repo, &["rev-list", "--merges", "--count", "main"]),
        "3"
    );
}

#[test]
fn a_conflict_names_its_files_and_leaves_the_target_as_it_was() {
    let scene = Scene::new();
    let repo = scene.repo();
    work(&scene, "a", "src/a.txt", "one\nAAA\nthree\n");
    work(&scene, "b", "src/a.txt", "one\nBBB\nthree\n");
    scene.worktrees().merge(&repo, &slug("a")).unwrap();
    let before = scene.git_in(&repo, &["rev-parse", "main"]);
    let refused = scene.worktrees().merge(&repo, &slug("b")).unwrap_err();
    let WorktreeError::Conflict { files, target, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(
        (files.as_slice(), target.as_str()),
        (&["src/a.txt".to_owned()][..], "main")
    );
    assert_eq!(scene.git_in(&repo, &["rev-parse", "main"]), before);
    assert_eq!(scene.status(&repo), "");
    // As the sentence says, it is mended in the worktree.
    let tree = repo.join(".claude/worktrees/b");
    scene.git_in(&tree, &["merge", "-q", "-s", "ours", "main"]);
    let merged = scene.worktrees().merge(&repo, &slug("b")).unwrap();
    assert_eq!(merged.outcome, MergeOutcome::FastForward);
    assert_eq!(
        fs::read_to_string(repo.join("src/a.txt")).unwrap(),
        "one\nBBB\nthree\n"
    );
}

#[test]
fn a_checkout_with_changes_of_its_own_is_never_touched() {
    let scene = Scene::new();
    let repo = scene.repo();
    work(&scene, "a", "c.txt", "theirs\n");
    scene.write(&repo, "b.txt", "mine\n");
    let refused = scene
        .worktrees()
        .merge(&repo, &slug("a"))
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("has uncommitted changes: b.txt"),
        "{refused}"
    );
    scene.git_in(&repo, &["checkout", "-q", "b.txt"]);
    // A file that git does not know would be overwritten.
    scene.write(&repo, "c.txt", "mine\n");
    let refused = scene
        .worktrees()
        .merge(&repo, &slug("a"))
        .unwrap_err()
        .to_string();
    assert!(refused.contains("c.txt"), "{refused}");
    assert_eq!(fs::read_to_string(repo.join("c.txt")).unwrap(), "mine\n");
    assert_eq!(scene.git_in(&repo, &["rev-list", "--count", "main"]), "1");
    fs::remove_file(repo.join("c.txt")).unwrap();
    // What the worktree has not committed would be missing.
    let tree = repo.join(".claude/worktrees/a");
    scene.write(&tree, "more.txt", "more\n");
    let refused = scene
        .worktrees()
        .merge(&repo, &slug("a"))
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("uncommitted changes: more.txt"),
        "{refused}"
    );
    fs::remove_file(tree.join("more.txt")).unwrap();
    // Where nobody has the target checked out, only the branch moves.
    scene.git_in(&repo, &["checkout", "-q", "-b", "elsewhere"]);
    scene.worktrees().merge(&repo, &slug("a")).unwrap();
    assert!(!repo.join("c.txt").exists());
    assert_eq!(scene.git_in(&repo, &["show", "main:c.txt"]), "theirs");
}

/// A worktree that began at changes of `b.txt`, which nobody has committed.
fn begun_at_changes(scene: &Scene) -> std::path::PathBuf {
    let repo = scene.repo();
    scene.write(&repo, "b.txt", "b\nhalf a thought\n");
    scene.write(&repo, "private.txt", "not for others\n");
    let wanted = request(&repo, "a", Some(Uncommitted::Snapshot));
    let made = scene.worktrees().create(&wanted).unwrap();
    scene.worktrees().settle(&made).unwrap();
    made.record.path
}

#[test]
fn uncommitted_changes_at_which_a_worktree_began_are_not_merged() {
    let scene = Scene::new();
    let repo = scene.repo();
    let tree = begun_at_changes(&scene);
    assert!(tree.join("private.txt").exists());
    let subject = scene.git_in(&tree, &["log", "-1", "--format=%s"]);
    assert_eq!(subject, "Uncommitted changes at which worktree-a began");
    for (file, message) in [("c.txt", "one"), ("d.txt", "two")] {
        scene.write(&tree, file, "new\n");
        scene.git_in(&tree, &["add", "-A"]);
        scene.git_in(
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
    // As long as the person has not decided about them, they are in the way, and stay as they are.
    let refused = scene
        .worktrees()
        .merge(&repo, &slug("a"))
        .unwrap_err()
        .to_string();
    assert!(refused.contains("commit or stash them there"), "{refused}");
    scene.git_in(&repo, &["stash", "-q", "-u"]);
    let merged = scene.worktrees().merge(&repo, &slug("a")).unwrap();
    assert_eq!(merged.outcome, MergeOutcome::Copied);
    let log = scene.git_in(&repo, &["log", "--format=%s by %an", "main"]);
    assert_eq!(log, "two by M\none by M\nfirst by A");
    assert_eq!(fs::read_to_string(repo.join("b.txt")).unwrap(), "b\n");
    assert!(repo.join("d.txt").exists() && !repo.join("private.txt").exists());
    scene.git_in(&repo, &["stash", "pop", "-q"]);
    assert!(repo.join("private.txt").exists());

    // Only what came since is taken the next time, though the target has moved on.
    scene.commit(&repo, "my changes");
    let again = scene.worktrees().merge(&repo, &slug("a")).unwrap();
    assert_eq!(again.outcome, MergeOutcome::AlreadyThere);
    scene.write(&tree, "b.txt", "b\nhalf a thought, mended\n");
    scene.commit(&tree, "three");
    scene.worktrees().merge(&repo, &slug("a")).unwrap();
    let subjects = scene.git_in(&repo, &["log", "--format=%s", "-2", "main"]);
    assert_eq!(subjects, "three\nmy changes");
    assert_eq!(
        fs::read_to_string(repo.join("b.txt")).unwrap(),
        "b\nhalf a thought, mended\n"
    );
    // And what is taken is not lost.
    scene
        .worktrees()
        .remove(&repo, &slug("a"), false, NOW)
        .unwrap();
}

#[test]
fn work_on_uncommitted_changes_conflicts_until_they_are_committed() {
    let scene = Scene::new();
    let repo = scene.repo();
    let tree = begun_at_changes(&scene);
    scene.write(&tree, "b.txt", "b\nhalf a thought and more\n");
    scene.commit(&tree, "more");
    scene.git_in(&repo, &["stash", "-q", "-u"]);
    let refused = scene.worktrees().merge(&repo, &slug("a")).unwrap_err();
    let WorktreeError::Conflict { files, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(files, &["b.txt"]);
    assert_eq!(scene.status(&repo), "");
    scene.git_in(&repo, &["stash", "pop", "-q"]);
    scene.commit(&repo, "my changes");
    // As the sentence says, the target may also be merged in the worktree first.
    scene.git_in(&tree, &["merge", "-q", "-X", "ours", "-m", "main", "main"]);
    let merged = scene.worktrees().merge(&repo, &slug("a")).unwrap();
    assert_eq!(merged.outcome, MergeOutcome::Copied);
    assert_eq!(
        fs::read_to_string(repo.join("b.txt")).unwrap(),
        "b\nhalf a thought and more\n"
    );
    let log = scene.git_in(&repo, &["log", "--format=%s", "main"]);
    assert!(!log.contains("at which"), "{log}");
}

#[test]
fn i4_a_merge_that_was_taken_back_is_not_taken_for_one() {
    let scene = Scene::new();
    let repo = scene.repo();
    let tree = begun_at_changes(&scene);
    scene.write(&tree, "c.txt", "work\n");
    scene.commit(&tree, "work");
    scene.git_in(&repo, &["stash", "-q", "-u"]);
    let merged = scene.worktrees().merge(&repo, &slug("a")).unwrap();
    assert_eq!(merged.outcome, MergeOutcome::Copied);
    scene.git_in(&repo, &["reset", "-q", "--hard", "HEAD~1"]);
    let Pruned { gone, kept, .. } = scene.worktrees().prune(&repo, false, NOW).unwrap();
    assert_eq!((gone.len(), kept.len()), (0, 1));
    assert!(tree.join("c.txt").exists());
    // It can be merged anew, and what is held is free to go.
    let again = scene.worktrees().merge(&repo, &slug("a")).unwrap();
    assert_eq!(again.outcome, MergeOutcome::Copied);
    assert!(repo.join("c.txt").exists());
    let Pruned { gone, .. } = scene.worktrees().prune(&repo, false, NOW).unwrap();
    assert_eq!(gone.len(), 1);
}
