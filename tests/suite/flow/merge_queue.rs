//! Merges of members' work with real programs: checks on the merge, forecasts of conflicts, and reviews.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use swarm_os::InheritableLock;
use swarm_tests::fake_api::{Ask, Block, FakeApi, Reply};
use swarm_tests::stage::World;

use crate::pains::worktrees::{commit, git, project, spawn_apart};
use crate::scene::{demo_run_args, wait_for_state, world};

/// A team with a member that has a worktree and is idle.
fn idle_apart(api: &FakeApi, names: &[&str]) -> World {
    let world = project(api);
    for name in names {
        spawn_apart(&world, name);
        wait_for_state(&world, name, "idle");
    }
    world
}

#[test]
fn checks_run_on_the_merge_and_nothing_is_merged_while_one_fails() {
    let api = FakeApi::start(|_: &Ask| Reply::text("I see."));
    let world = idle_apart(&api, &["alice"]);
    let path = world.project().join(".claude/worktrees/alice");
    let one_of = "pwd; ! test -e mine.txt -a -e theirs.txt";
    let create = [
        "task", "create", "sing", "--owner", "alice", "--check", one_of,
    ];
    world.swarm(&create).ok();
    commit(&world, &path, "mine.txt", "mine\n");
    commit(&world, &world.project(), "theirs.txt", "theirs\n");
    let head = git(&world, &world.project(), &["rev-parse", "HEAD"]);
    let complete = ["task", "update", "1", "--status", "completed", "--force"];
    let refused = world.swarm(&complete);
    let said = refused.code(5).stderr;
    assert!(said.contains("on the merge of its work"), "{said}");
    assert!(said.contains("worktrees/@merge"), "{said}");
    // By hand too, unless the person says otherwise.
    let refused = world.swarm(&["worktree", "merge", "alice"]);
    let said = refused.code(5).stderr;
    assert!(said.contains("of task #1 failed:"), "{said}");
    assert_eq!(git(&world, &world.project(), &["rev-parse", "HEAD"]), head);
    assert!(!world.project().join(".claude/worktrees/@merge").exists());

    git(&world, &world.project(), &["rm", "-q", "theirs.txt"]);
    git(&world, &world.project(), &["commit", "-q", "-m", "without"]);
    world.swarm(&complete).ok();
    assert!(world.project().join("mine.txt").exists());
    let output = &world.team("demo").task(1)["metadata"]["swarm"]["checks"][0]["last"]["output"];
    let output = output.as_str().expect("the output").to_owned();
    assert!(output.ends_with("worktrees/@merge"), "{output}");
    assert_eq!(
        git(&world, &world.project(), &["status", "--porcelain"]),
        ""
    );
    world.swarm(&["shutdown", "alice"]).ok();
}

#[test]
fn a_merge_by_hand_reports_that_it_waits_for_another_one() {
    let api = FakeApi::start(|_: &Ask| Reply::text("I see."));
    let world = idle_apart(&api, &["alice"]);
    let path = world.project().join(".claude/worktrees/alice");
    commit(&world, &path, "mine.txt", "mine\n");
    let queue = world.project().join(".git/swarm/merge.lock");
    let queue = InheritableLock::take(&queue, Duration::from_mins(1)).expect("the lock");
    let mut merge = world
        .command("swarm")
        .args(["worktree", "merge", "alice"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("swarm runs");
    let mut lines = BufReader::new(merge.stderr.take().expect("a pipe")).lines();
    let line = lines.next().expect("a line").expect("text");
    assert_eq!(line, "waiting for another merge of this repository");
    drop(queue);
    assert!(merge.wait().expect("its status").success());
    assert!(world.project().join("mine.txt").exists());
    world.swarm(&["shutdown", "alice"]).ok();
}

#[test]
fn conflicts_are_forecast_and_a_review_is_one_message() {
    let api = FakeApi::start(|_: &Ask| Reply::text("I see."));
    let world = idle_apart(&api, &["alice", "bob"]);
    for name in ["alice", "bob"] {
        let path = world.project().join(".claude/worktrees").join(name);
        commit(&world, &path, "song.txt", &format!("one\n{name}\nthree\n"));
    }
    let line = "alice and bob conflict in song.txt";
    let forecast = world.swarm(&["worktree", "forecast"]).ok().stdout.clone();
    assert_eq!(forecast.trim(), line);
    let status = world.swarm(&["status"]).ok().stdout.clone();
    assert!(status.contains(&format!("forecast: {line}")), "{status}");

    let diff = world
        .swarm(&["worktree", "diff", "alice"])
        .ok()
        .stdout
        .clone();
    assert!(diff.contains("-two\n+alice\n"), "{diff}");
    let comments = [
        "--comment",
        "song.txt:2",
        "Why?",
        "--comment",
        "song.txt:3",
        "Keep it.",
    ];
    let review = [&["review", "alice"][..], &comments].concat();
    let said = world.swarm(&review).ok().stdout.clone();
    assert_eq!(said.trim(), "sent 2 comments to alice");
    let mail = world.team("demo").inbox("alice");
    let last = mail.last().expect("a message");
    let expected = "Review of worktree-alice, 2 comments:\n\nsong.txt:2\n    +alice\nWhy?\n\nsong.txt:3\n     three\nKeep it.\n\n\
                    Fix each point and commit, or answer why not.";
    assert_eq!(last["text"], expected);
    let wrong = world.swarm(&["review", "alice", "--comment", "sing.txt:2", "Why?"]);
    assert!(wrong.code(2).stderr.contains("changed files: song.txt"));

    let editor = "sh -c 'sed -i \"s/^+alice/+alice\\n> Hm./\" \"$0\"'";
    let edited = world
        .command("swarm")
        .args(["review", "alice", "--edit"])
        .env("EDITOR", editor)
        .output();
    let edited = edited.expect("swarm runs");
    let said = String::from_utf8_lossy(&edited.stdout).into_owned();
    assert_eq!(
        said.trim(),
        "sent 1 comment to alice",
        "{}",
        String::from_utf8_lossy(&edited.stderr)
    );
    world.swarm(&["kill", "--all"]).ok();
}

#[test]
fn a_lead_tells_both_members_that_their_commits_conflict() {
    let api = FakeApi::start(|ask: &Ask| {
        let name = ask.agent.as_str();
        if name == "team-lead" {
            if ask.result_of("bob").is_some() {
                return Reply::text("done");
            }
            return Reply::blocks(["alice", "bob"].map(|name| {
                let input = json!({"description": "work", "prompt": "go", "name": name, "isolation": "worktree"});
                Block::tool(name, "Agent", input)
            }));
        }
        let call = format!("commit-{name}");
        if ask.result_of(&call).is_some() {
            return Reply::text("committed");
        }
        let command =
            format!("printf 'one\\n{name}\\nthree\\n' > song.txt && git commit -qam {name}");
        Reply::tool(call, "Bash", json!({"command": command}))
    });
    let world = world().with_api(&api);
    world.write("project/song.txt", "one\ntwo\nthree\n");
    world.commit_project();
    world.swarm(&demo_run_args("go", &[])).ok();
    for (name, peer) in [("alice", "bob"), ("bob", "alice")] {
        let words = format!("{peer}'s branch worktree-{peer} change the same places in song.txt");
        let mail = world.team("demo").inbox(name);
        let told: Vec<_> = mail
            .iter()
            .filter(|entry| {
                entry["text"]
                    .as_str()
                    .is_some_and(|text| text.contains(&words))
            })
            .collect();
        assert_eq!(told.len(), 1, "{mail:?}\n{}", api.summary());
    }
}
