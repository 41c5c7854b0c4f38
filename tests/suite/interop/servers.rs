//! The MCP servers of a member whose agent is another program: each call is decided once, by the rules of swarm.

use serde_json::{Value, json};
use swarm_tests::stage::World;

use super::programs::{ACP_AGENT, CLAUDE_CODE, install};
use crate::scene::{wait_for_no_process, wait_for_state, world_with_team};

fn server() -> Value {
    json!({"command": env!("CARGO_BIN_EXE_serves-mcp"), "args": ["--mode", "well"]})
}

/// A world with the team `demo`, the server `kit` of the user, and these permission rules.
fn world_with_server(rules: &Value) -> World {
    let world = world_with_team("demo");
    let servers = json!({"mcpServers": {"kit": server()}});
    world.write("root/.mcp.json", &servers.to_string());
    let settings = json!({"permissions": rules});
    world.write("root/settings.json", &settings.to_string());
    install(&world, "agent", ACP_AGENT);
    world
}

/// Spawns bob with the fake ACP agent; the request for its session is in the file that is returned.
fn spawn_bob(world: &World, more: &[&str]) -> std::path::PathBuf {
    let session = world.project().join("session.json");
    let variable = format!("ACP_SESSION={}", session.display());
    let spawn = ["spawn", "bob", "--runtime", "acp:./agent", "--backend"];
    let fixed = ["headless", "--env", &variable];
    world.swarm(&[&spawn[..], &fixed, more].concat()).ok();
    session
}

/// Waits for this number of reports, and returns the last one.
fn report(world: &World, number: usize) -> String {
    let reports = || world.team("demo").frames("team-lead", "idle_notification");
    world.wait_until("the report", || reports().len() == number);
    let report = reports().pop().expect("a report");
    report["result"].as_str().unwrap_or_default().to_owned()
}

/// Returns how many questions there were.
fn questions(world: &World) -> usize {
    world.team("demo").events("request_opened").len()
}

fn open_requests(world: &World) -> Vec<Value> {
    let mut asked = world.team("demo").requests();
    asked.retain(|one| one["state"]["is"] == "open");
    asked
}

/// Approves the only question, which must be about a call of the server with this text.
fn approve(world: &World, name: &str, text: &str) {
    wait_for_state(world, name, "waiting-permission");
    let open = open_requests(world);
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(open[0]["tool"], "mcp__kit__echo");
    assert_eq!(open[0]["input"], json!({"text": text}));
    world.swarm(&["approve", name]).ok();
}

#[test]
fn a_call_of_a_server_is_asked_about_once_whether_or_not_the_program_asks() {
    let world = world_with_server(&json!({}));
    spawn_bob(&world, &["--prompt", "ask the server"]);
    approve(&world, "bob", "hello");
    assert_eq!(report(&world, 1), "it said hello");
    world.swarm(&["send", "bob", "call the server"]).ok();
    approve(&world, "bob", "again");
    assert_eq!(report(&world, 2), "it said again");
    assert_eq!(questions(&world), 2);
    world.swarm(&["shutdown", "bob"]).ok();
    wait_for_no_process(&world);
}

#[test]
fn the_question_of_a_program_that_ends_its_turn_or_dies_is_withdrawn() {
    for (how, state) in [("end", "idle"), ("die", "failed")] {
        let world = world_with_server(&json!({}));
        let cue = world.project().join("cue");
        let made = std::process::Command::new("mkfifo").arg(&cue).status();
        assert!(made.expect("mkfifo").success());
        spawn_bob(&world, &["--prompt", "leave the question"]);
        wait_for_state(&world, "bob", "waiting-permission");
        std::fs::write(&cue, format!("{how}\n")).expect("the cue");
        wait_for_state(&world, "bob", state);
        let open = open_requests(&world);
        assert!(open.is_empty(), "{how}: {open:?}");
        world.swarm(&["kill", "bob"]).ok();
    }
}

#[test]
fn a_question_that_only_names_the_tool_is_decided_with_the_call() {
    let world = world_with_server(&json!({}));
    spawn_bob(&world, &["--prompt", "name the tool"]);
    approve(&world, "bob", "named");
    assert_eq!(report(&world, 1), "it said named");
    assert_eq!(questions(&world), 1);
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_call_runs_with_the_input_that_was_approved() {
    let world = world_with_server(&json!({}));
    spawn_bob(&world, &["--prompt", "ask the server"]);
    wait_for_state(&world, "bob", "waiting-permission");
    let changed = json!({"text": "changed"}).to_string();
    world.swarm(&["approve", "bob", "--input", &changed]).ok();
    assert_eq!(report(&world, 1), "it said changed");
    assert_eq!(questions(&world), 1);
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_command_with_the_title_of_a_team_tool_is_asked_about() {
    let world = world_with_server(&json!({}));
    spawn_bob(&world, &["--prompt", "pose as a tool"]);
    wait_for_state(&world, "bob", "waiting-permission");
    world.swarm(&["deny", "bob"]).ok();
    assert_eq!(report(&world, 1), "may not");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn claude_code_gets_the_servers_too() {
    let world = world_with_server(&json!({}));
    install(&world, "claude", CLAUDE_CODE);
    let path = std::env::var("PATH").expect("a path");
    let path = format!("{}:{path}", world.project().display());
    let world = world.with_variable("PATH", &path);
    let spawn = ["spawn", "carl", "--runtime", "claude", "--backend"];
    let more = ["headless", "--prompt", "ask the server"];
    world.swarm(&[&spawn[..], &more].concat()).ok();
    approve(&world, "carl", "hello");
    assert_eq!(report(&world, 1), "it said hello");
    assert_eq!(questions(&world), 1);
    world.swarm(&["shutdown", "carl"]).ok();
    wait_for_no_process(&world);
}

#[test]
fn rules_decide_about_the_calls() {
    for (rules, asked, called) in [
        (
            json!({"allow": ["mcp__kit"]}),
            "it said hello",
            "it said again",
        ),
        (json!({"deny": ["mcp__kit__echo"]}), "may not", "no answer"),
    ] {
        let world = world_with_server(&rules);
        spawn_bob(&world, &["--prompt", "ask the server"]);
        assert_eq!(report(&world, 1), asked);
        world.swarm(&["send", "bob", "call the server"]).ok();
        assert_eq!(report(&world, 2), called);
        assert_eq!(questions(&world), 0, "{rules}");
        world.swarm(&["kill", "bob"]).ok();
    }
}

#[test]
fn only_servers_that_may_start_here_are_handed_on_and_the_rest_is_reported() {
    let world = world_with_server(&json!({}));
    let named = |name: &str| json!({"mcpServers": {name: server()}}).to_string();
    world.write("project/.mcp.json", &named("evil"));
    let program = env!("CARGO_BIN_EXE_serves-mcp");
    let looker = format!(
        "---\nname: looker\ndescription: x\nmcpServers:\n  - docs:\n      command: {program}\n---\nx"
    );
    world.write("root/agents/looker.md", &looker);
    let given = named("swarm");
    let more = [
        "--agent",
        "looker",
        "--mcp-config",
        &given,
        "--prompt",
        "hello",
    ];
    let session = spawn_bob(&world, &more);
    report(&world, 1);
    let session = std::fs::read_to_string(session).expect("the session");
    let session: Value = serde_json::from_str(&session).expect("a request");
    let handed = session["params"]["mcpServers"].as_array().expect("servers");
    let mut handed: Vec<_> = handed.iter().map(|one| one["name"].to_string()).collect();
    handed.sort();
    assert_eq!(handed, [r#""docs""#, r#""kit""#, r#""swarm""#]);
    let logs = world.swarm(&["logs", "bob"]);
    logs.stdout_has("does not get the MCP server `swarm`");
    world.swarm(&["kill", "bob"]).ok();
    let again = [
        "spawn",
        "eve",
        "--runtime",
        "acp:./agent",
        "--backend",
        "headless",
    ];
    world.swarm(&again).ok().stderr_has("swarm trust");
    world.swarm(&["kill", "eve"]).ok();
}
