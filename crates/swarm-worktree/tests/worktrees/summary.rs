//! What agents are told about a checkout.

use std::fs;

use crate::scene::Scene;

#[test]
fn a_summary_has_the_main_branch_a_capped_status_and_the_last_five_commits() {
    let scene = Scene::new();
    let repo = scene.repo();
    for number in 2..=7 {
        scene.write(&repo, "b.txt", &number.to_string());
        scene.commit(&repo, &format!("change {number}"));
    }
    scene.git_in(&repo, &["switch", "-q", "-c", "feature"]);
    let clean = scene.worktrees().summary(&repo.join("src")).unwrap();
    assert_eq!(clean.toplevel, repo);
    assert_eq!(clean.main_branch.as_deref(), Some("main"));
    assert_eq!(clean.status, Some(Vec::new()));
    let subjects: Vec<_> = clean
        .commits
        .iter()
        .map(|line| line.split_once(' ').unwrap().1)
        .collect();
    let last = ["change 7", "change 6", "change 5", "change 4", "change 3"];
    assert_eq!(subjects, last);
    for number in 0..30 {
        scene.write(&repo, &format!("new-{number:02}"), "x");
    }
    let status = scene.worktrees().summary(&repo).unwrap().status.unwrap();
    assert_eq!(status.len(), 21);
    assert_eq!((&*status[0], &*status[20]), ("?? new-00", "and 10 more"));
    fs::create_dir_all(repo.join(".git/refs/remotes/origin")).unwrap();
    scene.write(
        &repo,
        ".git/refs/remotes/origin/HEAD",
        "ref: refs/remotes/origin/trunk\n",
    );
    let cloned = scene.worktrees().summary(&repo).unwrap();
    assert_eq!(cloned.main_branch.as_deref(), Some("trunk"));
    assert_eq!(scene.worktrees().summary(&scene.path("none")), None);
}

#[test]
fn a_worktree_of_swarm_is_summarized_without_reading_what_its_owner_wrote_for_git() {
    let scene = Scene::new();
    let created = scene.create(&scene.repo(), "w").unwrap();
    let tree = created.record.path;
    scene.write(&tree, "b.txt", "changed");
    let summary = scene.worktrees().summary(&tree).unwrap();
    assert_eq!(summary.toplevel, tree);
    assert_eq!(summary.status.unwrap(), [" M b.txt"]);
    assert_eq!(summary.main_branch.as_deref(), Some("main"));
    scene.write(&tree, ".git", "gitdir: /nowhere\n");
    assert_eq!(scene.worktrees().summary(&tree), None);
}
