//! Work of a member on another machine comes back to the lead's repository: two worlds, each with a
//! clone and a config directory.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::World;

use crate::machines::{Machines, bob, hello_args};
use crate::pains::worktrees::commit;

/// Returns the worktrees that a machine lists.
fn listed(machine: &World) -> Value {
    machine.swarm(&["worktree", "list", "--json"]).json()
}

#[test]
fn work_of_a_member_on_another_machine_is_merged_on_the_leads() {
    let api = FakeApi::start(|ask: &Ask| {
        let completes = json!({"taskId": "1", "status": "completed", "result": "sung"});
        match ask.result_of("done") {
            None if ask.news_has("finish") => Reply::tool("done", "TaskUpdate", completes),
            _ => Reply::text("I see."),
        }
    });
    let Some(machines) = Machines::with_clones(&api) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    second.swarm(&hello_args("bob", &["--worktree"])).ok();
    first.wait_until("bob is idle", || bob(first)["state"] == "idle");
    assert_eq!(listed(first), json!([]), "there is no work yet");
    first.swarm(&["task", "create", "sing"]).ok();
    second.swarm(&["task", "claim", "1", "--as", "bob"]).ok();
    let tree = second.project().join(".claude/worktrees/bob");
    commit(second, &tree, "new.txt", "new\n");
    std::fs::write(tree.join("draft.txt"), "not yet\n").unwrap();
    first.swarm(&["send", "bob", "finish"]).ok();
    api.wait_for("the result", "bob", |ask| ask.result_of("done").is_some());
    // Completed there, it is merged here.
    assert!(!second.project().join("new.txt").exists());
    let found = listed(first);
    assert_eq!(found[0]["slug"], "bob", "{found}");
    assert_eq!(found[0]["remote"]["uncommitted"], json!(["draft.txt"]));
    assert_eq!(found[0]["state"], "in-use", "{found}");
    let text = first.swarm(&["worktree", "list"]);
    let words = "1 commit is neither merged nor pushed; uncommitted changes of draft.txt";
    text.stderr_has(words);
    first
        .swarm(&["worktree", "diff", "bob"])
        .ok()
        .stdout_has("+new");
    first
        .swarm(&["review", "bob", "--comment", "new.txt:1", "why?"])
        .ok();
    api.wait_for("the comment", "bob", |ask| ask.news_has("why?"));
    let skipped = first.swarm(&["worktree", "merge", "--all"]);
    skipped.stderr_has("skipped because they are in use: bob");
    let merged = first.swarm(&["worktree", "merge", "bob"]);
    assert!(
        merged.ok().stdout.starts_with("merged worktree-bob into "),
        "{}",
        merged.story()
    );
    let words = "with uncommitted changes that are not included: draft.txt";
    merged.stderr_has(words);
    assert!(first.project().join("new.txt").exists());

    // It is killed, or its machine is gone: what it has published is still there.
    commit(second, &tree, "more.txt", "more\n");
    first.swarm(&["send", "bob", "go on"]).ok();
    first.wait_until("the commit is published", || {
        let found = listed(first);
        found[0]["remote"]["uncommitted"] == json!([])
    });
    first.wait_until("bob is idle", || bob(first)["state"] == "idle");
    second.swarm(&["kill", "bob"]).ok();
    let found = listed(first);
    assert_eq!(found[0]["state"], "work", "{found}");
    first.swarm(&["worktree", "merge", "--all"]).ok();
    assert!(first.project().join("more.txt").exists());
    assert_eq!(listed(first)[0]["state"], "clean");
    first.swarm(&["worktree", "prune"]).ok();
    assert_eq!(listed(first), json!([]));
    machines.end_with_team();
}
