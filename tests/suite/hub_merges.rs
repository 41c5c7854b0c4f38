//! The process of a lead merges what a member on another machine completes.

use rustix::process::Signal;
use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Reply};
use swarm_tests::stage::{MODEL, Running, World};

use crate::machines::{Machines, hello_args};
use crate::pains::worktrees::{commit, git};

/// Lets bob complete task 1. Returns what the tool answered.
fn completes(first: &World, api: &FakeApi, attempt: &str) -> (String, bool) {
    first
        .swarm(&["send", "bob", &format!("finish: {attempt}")])
        .ok();
    let told = api.wait_for("the result", "bob", |ask| ask.result_of(attempt).is_some());
    told.ask.result_of(attempt).unwrap()
}

#[test]
fn a_task_of_a_member_on_another_machine_is_completed_once_its_work_is_merged() {
    let attempts = ["uncommitted", "failing", "conflicting", "merged"];
    // The lead is in a turn all the time.
    let gate = Gate::closed();
    let lead_waits = Reply::text("I have waited.").held_by(&gate, 0);
    let api = FakeApi::start(move |ask: &Ask| {
        if ask.news_has("wait for bob") {
            return lead_waits.clone();
        }
        let completes = json!({"taskId": "1", "status": "completed", "result": "sung"});
        let told = |attempt: &&&str| ask.news_has(&format!("finish: {attempt}"));
        let attempt = attempts.iter().find(told);
        match attempt.filter(|attempt| ask.result_of(attempt).is_none()) {
            Some(attempt) => Reply::tool(*attempt, "TaskUpdate", completes),
            None => Reply::text("I see."),
        }
    });
    let Some(machines) = Machines::with_clones(&api) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    second.swarm(&hello_args("bob", &["--worktree"])).ok();
    let check = ["task", "create", "sing", "--check", "test ! -e noise.txt"];
    first.swarm(&check).ok();
    second.swarm(&["task", "claim", "1", "--as", "bob"]).ok();
    let lead = ["--model", MODEL, "--backend", "headless"];
    let lead = first.start(&[&["resume", "demo", "wait for bob"], &lead[..]].concat());
    api.wait_for("the lead", "team-lead", |ask| ask.number == 1);
    let (here, tree) = (
        first.project(),
        second.project().join(".claude/worktrees/bob"),
    );
    let song = || std::fs::read_to_string(here.join("song.txt")).unwrap();
    let completes = |attempt| completes(first, &api, attempt);

    commit(second, &tree, "song.txt", "one\ntwo\nbob\n");
    std::fs::write(tree.join("draft.txt"), "not yet\n").unwrap();
    let (why, is_error) = completes("uncommitted");
    assert!(
        is_error && why.contains("uncommitted changes: draft.txt"),
        "{why}"
    );
    std::fs::remove_file(tree.join("draft.txt")).unwrap();

    // The check passes there, and fails here on the result.
    commit(first, &here, "noise.txt", "noise\n");
    let (why, is_error) = completes("failing");
    assert!(
        is_error && why.contains("check `test ! -e noise.txt`"),
        "{why}"
    );
    std::fs::remove_file(here.join("noise.txt")).unwrap();
    commit(first, &here, "song.txt", "one\ntwo\nfirst\n");

    let (why, is_error) = completes("conflicting");
    assert!(is_error && why.contains("both changed song.txt"), "{why}");
    let target = git(first, &here, &["branch", "--show-current"]);
    let target = format!("refs/swarm/target/{target}");
    assert!(why.contains(&target), "{why}");
    assert_eq!(song(), "one\ntwo\nfirst\n");
    let tasks = first.swarm(&["task", "list", "--json"]).json();
    assert_eq!(tasks[0]["status"], "in_progress", "{tasks}");
    git(second, &tree, &["merge", "-q", "-X", "ours", &target]);

    let (why, is_error) = completes("merged");
    assert!(!is_error, "{why}");
    assert_eq!(song(), "one\ntwo\nbob\n");
    gate.open();
    // All tasks are completed.
    lead.wait().ok();
    second.swarm(&["worktree", "prune"]).ok();
    machines.end_with_team();
}

/// Bob completes task 1 when he is told to finish, and the lead is in a turn until the gate opens.
fn finishing(gate: &Gate) -> FakeApi {
    let lead_waits = Reply::text("I have waited.").held_by(gate, 0);
    FakeApi::start(move |ask: &Ask| {
        if ask.news_has("wait for bob") {
            return lead_waits.clone();
        }
        let completes = json!({"taskId": "1", "status": "completed", "result": "sung"});
        match ask.result_of("done") {
            None if ask.news_has("finish") => Reply::tool("done", "TaskUpdate", completes),
            _ => Reply::text("I see."),
        }
    })
}

/// Spawns bob on the second machine, with one of two tasks, and starts the lead. Returns it.
fn begin(machines: &Machines, api: &FakeApi) -> Running {
    let (first, second) = (&machines.first, &machines.second);
    second.swarm(&hello_args("bob", &["--worktree"])).ok();
    for task in ["sing", "dance"] {
        first.swarm(&["task", "create", task]).ok();
    }
    second.swarm(&["task", "claim", "1", "--as", "bob"]).ok();
    let lead = ["--model", MODEL, "--backend", "headless"];
    let lead = first.start(&[&["resume", "demo", "wait for bob"], &lead[..]].concat());
    api.wait_for("the lead", "team-lead", |ask| ask.number == 1);
    lead
}

/// Lets bob commit and complete its task, which is accepted.
fn finish(machines: &Machines, api: &FakeApi) {
    let (first, second) = (&machines.first, &machines.second);
    let tree = second.project().join(".claude/worktrees/bob");
    commit(second, &tree, "new.txt", "new\n");
    first.swarm(&["send", "bob", "finish"]).ok();
    let told = api.wait_for("the result", "bob", |ask| ask.result_of("done").is_some());
    let (text, is_error) = told.ask.result_of("done").unwrap();
    assert!(!is_error, "{text}");
}

#[test]
fn with_manual_merges_a_task_is_completed_and_its_work_published() {
    let gate = Gate::closed();
    let api = finishing(&gate);
    let Some(machines) = Machines::with_clones(&api) else {
        return;
    };
    let first = &machines.first;
    let config = first.root().join("swarm.toml");
    std::fs::write(config, "[worktree]\nmerge = \"manual\"\n").unwrap();
    let lead = begin(&machines, &api);
    finish(&machines, &api);
    assert!(!first.project().join("new.txt").exists());
    let listed = first.swarm(&["worktree", "list", "--json"]).json();
    assert_eq!(listed[0]["slug"], "bob", "{listed}");
    lead.signal(Signal::INT);
    lead.wait().assert_code(130);
    gate.open();
    machines.end_with_team();
}

#[test]
fn a_lead_outside_of_the_repository_learns_how_the_work_is_merged() {
    let gate = Gate::closed();
    let api = finishing(&gate);
    let Some(machines) = Machines::with_clones(&api) else {
        return;
    };
    let first = &machines.first;
    std::fs::remove_dir_all(first.project().join(".git")).unwrap();
    let lead = begin(&machines, &api);
    finish(&machines, &api);
    let advice =
        "is not in a clone of the repository. Merge it with `swarm worktree merge bob` in a clone";
    first.wait_until("the lead is told", || {
        let mail = first.swarm(&["inbox", "team-lead", "--json"]);
        mail.stdout.contains(advice)
    });
    lead.signal(Signal::INT);
    lead.wait().assert_code(130);
    gate.open();
    machines.end_with_team();
}

/// The merge of bob's work waits for a clean checkout; meanwhile bob does not complete the task any
/// more.
fn is_not_merged_after(lost: impl Fn(&Machines)) {
    let gate = Gate::closed();
    let api = finishing(&gate);
    let Some(machines) = Machines::with_clones(&api) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    let lead = begin(&machines, &api);
    let tree = second.project().join(".claude/worktrees/bob");
    commit(second, &tree, "song.txt", "one\ntwo\nbob\n");
    let song = first.project().join("song.txt");
    std::fs::write(&song, "mine\n").unwrap();
    first.swarm(&["send", "bob", "finish"]).ok();
    first.wait_until("the merge waits", || {
        let mail = first.swarm(&["inbox", "team-lead", "--json"]).json();
        mail.to_string().contains("waits for uncommitted changes")
    });
    lost(&machines);
    // As an editor saves the file without the change.
    std::fs::write(&song, "one\ntwo\nthree\n").unwrap();
    // It completes a merge that has begun.
    lead.signal(Signal::INT);
    lead.wait().assert_code(130);
    assert_eq!(std::fs::read_to_string(&song).unwrap(), "one\ntwo\nthree\n");
    let tasks = first.swarm(&["task", "list", "--json"]).json();
    assert_ne!(tasks[0]["status"], "completed", "{tasks}");
    gate.open();
    machines.end_with_team();
}

#[test]
fn the_work_of_a_member_that_is_killed_during_its_merge_is_not_merged() {
    is_not_merged_after(|machines| {
        machines.second.swarm(&["kill", "bob"]).ok();
    });
}

#[test]
fn the_work_of_a_member_that_is_interrupted_during_its_merge_is_not_merged() {
    is_not_merged_after(|machines| {
        machines.second.swarm(&["interrupt", "bob"]).ok();
    });
}
