//! Processes that are killed while they create a worktree.

use std::fs;
use std::process::Command;

use crate::creation::executable;
use crate::fixture::RepositoryFixture;

/// Repository and home directory of the child process.
const REPO: &str = "SWARM_TEST_REPO";
const HOME: &str = "SWARM_TEST_HOME";

/// The program that is killed. Not a test by itself.
#[test]
fn maker() {
    let (Ok(repo), Ok(home)) = (std::env::var(REPO), std::env::var(HOME)) else {
        return;
    };
    let home = std::path::Path::new(&home);
    let git = swarm_worktree::Git::new(home.join("git"), crate::fixture::environment(home));
    let worktrees = swarm_worktree::Worktrees::new(git, <_>::default(), home.join("own"));
    let request = crate::fixture::request(repo.as_ref(), "one", None);
    let made = worktrees.create(&request);
    println!("made {}", made.is_ok());
}

#[test]
fn i5_the_next_creation_cleans_up_after_a_process_killed_at_any_call_of_git() {
    let calls = die_at("before", 0);
    assert!(calls > 8, "{calls}");
    for when in ["before", "after"] {
        for at in 1..=calls {
            die_at(when, at);
        }
    }
}

/// Kills the creating process before or after call number `at` of git; 0 does not kill it. Returns
/// the number of calls.
fn die_at(when: &str, at: usize) -> usize {
    let fixture = RepositoryFixture::new();
    let (repo, home) = (fixture.repo(), fixture.path(""));
    let called = home.join("called");
    fs::create_dir(&called).unwrap();
    // Calls at the same time have different numbers. If the process is killed before the call, git is
    // still running: the next process must wait for it.
    let script = format!(
        "#!/bin/sh\nn=1\nwhile ! mkdir {called}/$n 2>/dev/null; do n=$((n + 1)); done\nif [ $n = {at} ] && [ {when} = before ]; then kill -9 $PPID; fi\n\
         git \"$@\"\ncode=$?\nif [ $n = {at} ] && [ {when} = after ]; then kill -9 $PPID; fi\nexit $code\n",
        called = called.display()
    );
    fs::write(home.join("git"), script).unwrap();
    executable(&home.join("git"));
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "killed::maker",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(REPO, &repo)
        .env(HOME, &home)
        .output()
        .unwrap()
        .status;
    assert_eq!(status.success(), at == 0, "{when} {at}");
    let calls = fs::read_dir(&called).unwrap().count();
    if at > 0 {
        // The next process creates another worktree, and a third one the same.
        fixture.create(&repo, "two").unwrap();
        let orphans: Vec<_> = fixture
            .branches(&repo)
            .into_iter()
            .filter(|name| name == "worktree-one")
            .collect();
        let ready = repo.join(".claude/worktrees/one/b.txt").exists();
        assert_eq!(orphans.len(), usize::from(ready), "{when} {at}");
        let again = fixture.create(&repo, "one");
        let again = again.unwrap_or_else(|error| panic!("{when} {at}: {error}"));
        assert_eq!(fixture.status(&again.record.path), "", "{when} {at}");
        assert_eq!(fixture.linked(&repo), 2, "{when} {at}");
        assert_eq!(
            fixture.branches(&repo),
            ["main", "worktree-one", "worktree-two"],
            "{when} {at}"
        );
        fixture.worktrees().rely_on_life_lock(&again).unwrap();
        fixture.remove("one", false).unwrap();
        let admin = fs::read_dir(repo.join(".git/worktrees")).unwrap().count();
        assert_eq!(admin, 1, "{when} {at}");
    }
    calls
}
