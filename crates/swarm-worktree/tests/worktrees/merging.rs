//! Merging worktrees.

use std::fs;
use std::thread;

use swarm_worktree::{MergeOutcome, WorktreeError};

use crate::scene::{Scene, slug};

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
