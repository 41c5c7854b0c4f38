//! What an agent may not do, although it runs as the same user and has a shell.

use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Reply};

use crate::scene::{spawn_over, world_over};

/// A member whose shell runs one command for its first prompt; gives what the command printed, with its exit code in
/// the last line.
fn printed_by_a_member(command: &str) -> String {
    let command = format!("{{ {command} ; }} 2>&1; echo \"exit $?\"");
    let api = FakeApi::start(move |ask: &Ask| match ask.result_of("t1") {
        None => Reply::tool("t1", "Bash", json!({"command": command})),
        Some(_) => Reply::text("done"),
    });
    let world = world_over(&api);
    world.swarm(&["task", "create", "something"]).ok();
    spawn_over(&world, "bob");
    let told = api.wait_for("the result", "bob", |ask| ask.result_of("t1").is_some());
    let config = world.team("demo").config();
    assert_eq!(
        config["members"].as_array().map(Vec::len),
        Some(2),
        "{config}"
    );
    world.swarm(&["kill", "bob"]).ok();
    told.ask.result_of("t1").unwrap().0
}

#[test]
fn an_agent_cannot_answer_grant_or_end_through_its_shell() {
    for verb in [
        "approve x",
        "deny x",
        "kill --all",
        "shutdown --all",
        "team create other",
        "team delete --force",
    ] {
        let printed = printed_by_a_member(&format!("swarm {verb}"));
        assert!(printed.trim_end().ends_with("exit 5"), "{verb}: {printed}");
    }
}

#[test]
fn an_agent_cannot_hide_who_it_is_by_dropping_its_environment() {
    let printed = printed_by_a_member(
        "setsid env -i PATH=\"$PATH\" CLAUDE_CONFIG_DIR=\"$CLAUDE_CONFIG_DIR\" HOME=\"$HOME\" swarm --team demo approve x",
    );
    assert!(printed.trim_end().ends_with("exit 5"), "{printed}");
}

#[test]
fn an_agent_writes_in_its_own_name_only() {
    let printed = printed_by_a_member("swarm send team-lead forged --from team-lead");
    assert!(printed.trim_end().ends_with("exit 5"), "{printed}");
}

#[test]
fn mail_from_an_agents_shell_is_its_own() {
    let api = FakeApi::start(|ask: &Ask| match ask.result_of("t1") {
        None => Reply::tool(
            "t1",
            "Bash",
            json!({"command": "swarm send team-lead 'from my shell'"}),
        ),
        Some(_) => Reply::text("done"),
    });
    let world = world_over(&api);
    spawn_over(&world, "bob");
    let mail = world.wait_for("the mail", || {
        let mut mail = world.team("demo").inbox("team-lead");
        mail.retain(|entry| entry["text"] == "from my shell");
        mail.pop()
    });
    assert_eq!(mail["from"], "bob");
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn file_tools_leave_the_teams_files_alone_in_every_mode() {
    let api = FakeApi::start(|ask: &Ask| {
        let root = ask.news();
        let root = root
            .split_whitespace()
            .find(|word| word.starts_with('/'))
            .unwrap_or_default();
        match ask.messages().len() {
            1 => Reply::tool(
                "t1",
                "Write",
                json!({"file_path": format!("{root}/teams/demo/inboxes/x.json"), "content": "[]"}),
            ),
            3 => Reply::tool(
                "t2",
                "Write",
                json!({"file_path": "../root/settings.json", "content": "{}"}),
            ),
            _ => Reply::text("done"),
        }
    });
    let world = world_over(&api);
    let prompt = format!("the root is {}", world.root().display());
    world
        .swarm(&[
            "spawn",
            "bob",
            "--model",
            crate::scene::MODEL,
            "--backend",
            "headless",
            "--mode",
            "bypassPermissions",
            "--prompt",
            &prompt,
        ])
        .ok();
    let told = api.wait_for("both results", "bob", |ask| ask.result_of("t2").is_some());
    for call in ["t1", "t2"] {
        let (text, is_error) = told.ask.result_of(call).unwrap();
        assert!(is_error, "{call}: {text}");
    }
    assert!(
        !world.team("demo").inbox_path("x").exists()
            && !world.root().join("settings.json").exists()
    );
    world.swarm(&["shutdown", "bob"]).ok();
}
