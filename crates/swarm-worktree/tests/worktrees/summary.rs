//! Summaries of checkouts for agents.

use std::fs;

use crate::fixture::RepositoryFixture;

#[test]
fn a_summary_has_the_main_branch_a_capped_status_and_the_last_five_commits() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    for number in 2..=7 {
        fixture.write(&repo, "b.txt", &number.to_string());
        fixture.commit(&repo, &format!("change {number}"));
    }
    fixture.git_in(&repo, &["switch", "-q", "-c", "feature"]);
    let clean = fixture.worktrees().summary(&repo.join("src")).unwrap();
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
        fixture.write(&repo, &format!("new-{number:02}"), "x");
    }
    let status = fixture.worktrees().summary(&repo).unwrap().status.unwrap();
    assert_eq!(status.len(), 21);
    assert_eq!((&*status[0], &*status[20]), ("?? new-00", "and 10 more"));
    fs::create_dir_all(repo.join(".git/refs/remotes/origin")).unwrap();
    fixture.write(
        &repo,
        ".git/refs/remotes/origin/HEAD",
        "ref: refs/remotes/origin/trunk\n",
    );
    let cloned = fixture.worktrees().summary(&repo).unwrap();
    assert_eq!(cloned.main_branch.as_deref(), Some("trunk"));
    assert_eq!(fixture.worktrees().summary(&fixture.path("none")), None);
}

#[test]
fn a_manipulated_git_file_of_a_worktree_is_not_followed() {
    let fixture = RepositoryFixture::new();
    let created = fixture.create(&fixture.repo(), "w").unwrap();
    let tree = created.record.path;
    fixture.write(&tree, "b.txt", "changed");
    let summary = fixture.worktrees().summary(&tree).unwrap();
    assert_eq!(summary.toplevel, tree);
    assert_eq!(summary.status.unwrap(), [" M b.txt"]);
    assert_eq!(summary.main_branch.as_deref(), Some("main"));
    fixture.write(&tree, ".git", "gitdir: /nowhere\n");
    assert_eq!(fixture.worktrees().summary(&tree), None);
}
