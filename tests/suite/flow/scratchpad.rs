//! The scratchpad of a team: all members write in it without permission, and its log of decisions only grows.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Reply};

use crate::pains::worktrees::{project, spawn_apart};
use crate::scene::{spawn_with, wait_for_state};

/// The path of a file in the scratchpad, from the prompt.
fn pad(ask: &Ask, file: &str) -> String {
    let system = ask.system();
    let (_, after) = system
        .split_once("Team scratchpad: ")
        .unwrap_or_else(|| panic!("no scratchpad: {system}"));
    let (directory, _) = after.split_once(". All members").expect("its text");
    format!("{directory}/{file}")
}

fn write(call: &str, path: &str, content: &str) -> Reply {
    Reply::tool(
        call,
        "Write",
        json!({"file_path": path, "content": content}),
    )
}

#[test]
fn members_share_notes_without_permission_and_add_decisions() {
    let api = FakeApi::start(|ask: &Ask| {
        let has = |call: &str| ask.result_of(call).is_some();
        let log = || pad(ask, "decisions.md");
        if ask.agent == "alice" {
            // In a worktree and in the sandbox.
            return if has("shell") {
                Reply::text("done")
            } else {
                let command = format!(
                    "echo 'bob: port 80' >> {}; cat {}",
                    log(),
                    pad(ask, "note.md")
                );
                Reply::tool("shell", "Bash", json!({"command": command}))
            };
        }
        if !has("note") {
            write("note", &pad(ask, "note.md"), "found it\n")
        } else if !has("first") {
            write("first", &log(), "bob: port 79\n")
        } else if !has("changed") {
            write("changed", &log(), "bob: port 81\n")
        } else {
            Reply::text("done")
        }
    });
    let world = project(&api);
    spawn_with(&world, "bob", &["--mode", "default", "--prompt", "go"]);
    wait_for_state(&world, "bob", "idle");
    assert_eq!(world.team("demo").requests(), Vec::<Value>::new());
    spawn_apart(&world, "alice");
    wait_for_state(&world, "alice", "idle");
    let requests = api.requests();
    let result = |call: &str| {
        let mut results = requests.iter().filter_map(|one| one.ask.result_of(call));
        results
            .next()
            .unwrap_or_else(|| panic!("{call}\n{}", api.summary()))
    };
    let (note, is_error) = result("note");
    assert!(!is_error, "{note}");
    let (refused, is_error) = result("changed");
    assert!(
        is_error && refused.contains("only add lines at its end"),
        "{refused}"
    );
    let (shown, is_error) = result("shell");
    assert!(!is_error && shown.contains("found it"), "{shown}");
    let log = world.root().join("scratchpad/demo/decisions.md");
    let log = std::fs::read_to_string(log).expect("the log");
    assert_eq!(log, "bob: port 79\nbob: port 80\n");
    world.swarm(&["kill", "--all"]).ok();
}
