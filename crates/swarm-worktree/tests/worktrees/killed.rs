//! Makers that die at any moment.

use std::fs;
use std::process::Command;

use crate::creation::executable;
use crate::scene::{NOW, Scene, slug};

/// Where the child of the test below finds its repository.
const REPO: &str = "SWARM_TEST_REPO";
const HOME: &str = "SWARM_TEST_HOME";

/// Not a test by itself: the program that is killed.
#[test]
fn maker() {
    let (Ok(repo), Ok(home)) = (std::env::var(REPO), std::env::var(HOME)) else {
        return;
    };
    let home = std::path::Path::new(&home);
    let git = swarm_worktree::Git::new(home.join("git"), crate::scene::environment(home));
    let worktrees = swarm_worktree::Worktrees::new(git, <_>::default(), home.join("own"));
    let request = crate::scene::request(repo.as_ref(), "one", None);
    let made = worktrees.create(&request);
    println!("made {}", made.is_ok());
}

#[test]
fn i5_a_maker_that_dies_at_any_call_of_git_leaves_nothing_that_the_next_does_not_clear() {
    let calls = die_at("before", 0);
    assert!(calls > 8, "{calls}");
    for when in ["before", "after"] {
        for at in 1..=calls {
            die_at(when, at);
        }
    }
}

/// Lets a maker die just before or just after its git has done call number `at`; 0 lets it live. How many calls it made.
fn die_at(when: &str, at: usize) -> usize {
    let scene = Scene::new();
    let (repo, home) = (scene.repo(), scene.path(""));
    let count = home.join("count");
    // Killed before it, the maker leaves git running: the next one must wait for that.
    let script = format!(
        "#!/bin/sh\necho >> {count}\nn=$(wc -l < {count})\nif [ $n = {at} ] && [ {when} = before ]; then kill -9 $PPID; fi\n\
         git \"$@\"\ncode=$?\nif [ $n = {at} ] && [ {when} = after ]; then kill -9 $PPID; fi\nexit $code\n",
        count = count.display()
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
    let calls = fs::read_to_string(&count).unwrap().lines().count();
    if at > 0 {
        // The next one asks for another name, and a third one for the same.
        scene.create(&repo, "two").unwrap();
        let orphans: Vec<_> = scene
            .branches(&repo)
            .into_iter()
            .filter(|name| name == "worktree-one")
            .collect();
        let ready = repo.join(".claude/worktrees/one/b.txt").exists();
        assert_eq!(orphans.len(), usize::from(ready), "{when} {at}");
        let again = scene.create(&repo, "one");
        let again = again.unwrap_or_else(|error| panic!("{when} {at}: {error}"));
        assert_eq!(scene.status(&again.record.path), "", "{when} {at}");
        assert_eq!(scene.linked(&repo), 2, "{when} {at}");
        assert_eq!(
            scene.branches(&repo),
            ["main", "worktree-one", "worktree-two"],
            "{when} {at}"
        );
        scene.worktrees().settle(&again).unwrap();
        scene
            .worktrees()
            .remove(&repo, &slug("one"), false, NOW)
            .unwrap();
        let admin = fs::read_dir(repo.join(".git/worktrees")).unwrap().count();
        assert_eq!(admin, 1, "{when} {at}");
    }
    calls
}
