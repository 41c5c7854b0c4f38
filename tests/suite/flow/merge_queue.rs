//! Merges of members' work with real programs: checks on the merge, forecasts of conflicts, and reviews.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use swarm_os::InheritableLock;
use swarm_tests::fake_api::{Ask, Block, FakeApi, Gate, Reply};
use swarm_tests::stage::World;

use crate::pains::worktrees::{commit, git, project, spawn_apart};
use crate::scene::{demo_run_args, wait_for_state, world_with};

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
fn a_completion_waits_for_a_clean_checkout_of_the_target_and_status_says_so() {
    let api = FakeApi::start(|ask: &Ask| {
        let completes = json!({"taskId": "1", "status": "completed", "result": "sung"});
        match ask.result_of("done") {
            None if ask.news_has("finish") => Reply::tool("done", "TaskUpdate", completes),
            _ => Reply::text("I see."),
        }
    });
    let world = idle_apart(&api, &["alice"]);
    let (project, path) = (
        world.project(),
        world.project().join(".claude/worktrees/alice"),
    );
    world.swarm(&["task", "create", "sing"]).ok();
    world.swarm(&["task", "claim", "1", "--as", "alice"]).ok();
    commit(&world, &path, "new.txt", "new\n");
    std::fs::write(project.join("song.txt"), "mine\n").expect("a file");
    world.swarm(&["send", "alice", "finish"]).ok();
    let words = "the merge waits for uncommitted changes of song.txt";
    world.wait_until("alice says what she waits for", || {
        let detail = world.team("demo").state("alice")["detail"].clone();
        detail.as_str().is_some_and(|detail| detail.contains(words))
    });
    let status = world.swarm(&["status"]).ok().stdout.clone();
    assert!(status.contains("the merge waits"), "{status}");
    world.wait_until("the lead is told", || {
        let mail = world.team("demo").inbox("team-lead");
        mail.iter()
            .any(|entry| entry["text"].to_string().contains("waits for uncommitted"))
    });
    assert_eq!(world.team("demo").task(1)["status"], "in_progress");
    git(&world, &project, &["stash", "-q"]);
    let answered = api.wait_for("the answer", "alice", |ask| ask.result_of("done").is_some());
    let (said, is_error) = answered.ask.result_of("done").expect("an answer");
    assert!(!is_error, "{said}");
    assert!(project.join("new.txt").exists());
    wait_for_state(&world, "alice", "idle");
    world.swarm(&["shutdown", "alice"]).ok();
}

#[test]
fn a_merge_by_hand_waits_for_a_clean_checkout_of_the_target() {
    let api = FakeApi::start(|_: &Ask| Reply::text("I see."));
    let world = idle_apart(&api, &["alice"]);
    let path = world.project().join(".claude/worktrees/alice");
    commit(&world, &path, "new.txt", "new\n");
    let song = world.project().join("song.txt");
    std::fs::write(&song, "mine\n").expect("a file");
    let refused = world
        .command("swarm")
        .args(["worktree", "merge", "alice"])
        .env("SWARM_WORKTREE_MERGE_WAIT_S", "0")
        .output()
        .expect("swarm runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(4), "{said}");
    assert!(said.contains("has uncommitted changes: song.txt"), "{said}");

    let merge = world.start(&["worktree", "merge", "alice"]);
    let words = "waiting for uncommitted changes of song.txt in";
    world.wait_until("it says what it waits for", || {
        merge.stderr().contains(words)
    });
    // As an editor saves the file without the change.
    std::fs::write(&song, "one\ntwo\nthree\n").expect("a file");
    merge.wait().ok();
    assert!(world.project().join("new.txt").exists());
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

/// A run whose lead starts alice and bob, who both write the second line of `song.txt` with a shell
/// command that ends with `last`, and then reply.
fn two_write_the_same_line(last: &'static str, reply: Reply) -> (World, FakeApi) {
    let (api, world) = world_with(move |ask: &Ask| {
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
        let call = format!("write-{name}");
        if ask.result_of(&call).is_some() {
            return reply.clone();
        }
        let command = format!("printf 'one\\n{name}\\nthree\\n' > song.txt{last}");
        Reply::tool(call, "Bash", json!({"command": command}))
    });
    world.write("project/song.txt", "one\ntwo\nthree\n");
    world.commit_project();
    (world, api)
}

/// Returns how often a member was told that its work conflicts with that of the other one.
fn times_told(world: &World, name: &str, peer: &str) -> usize {
    let words = format!("{peer}'s branch worktree-{peer} change the same places in song.txt");
    let mail = world.team("demo").inbox(name);
    let texts = mail.iter().filter_map(|entry| entry["text"].as_str());
    texts.filter(|text| text.contains(&words)).count()
}

#[test]
fn a_lead_tells_both_members_that_their_commits_conflict() {
    let (world, api) = two_write_the_same_line(" && git commit -qam work", Reply::text("I see."));
    world.swarm(&demo_run_args("go", &[])).ok();
    for (name, peer) in [("alice", "bob"), ("bob", "alice")] {
        assert_eq!(times_told(&world, name, peer), 1, "{}", api.summary());
    }
}

#[test]
fn members_are_told_of_a_conflict_while_they_work_and_before_they_commit() {
    let gate = Gate::closed();
    let held = Reply::text("I see.").held_by(&gate, 1);
    let (world, api) = two_write_the_same_line("", held);
    let running = world.start(&demo_run_args("go", &[]));
    for (name, peer) in [("alice", "bob"), ("bob", "alice")] {
        world.wait_until("a member is told", || times_told(&world, name, peer) > 0);
    }
    gate.open();
    running.wait().ok();
    for (name, peer) in [("alice", "bob"), ("bob", "alice")] {
        assert_eq!(times_told(&world, name, peer), 1, "{}", api.summary());
    }
}
