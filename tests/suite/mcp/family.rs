//! Servers of sub-agents.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustix::process::Signal;
use serde_json::{Value, json};
use swarm_tests::fake_api::{FakeApi, Reply, Script, Step};
use swarm_tests::stage::World;

use super::bench::{PROGRAM, runs};
use super::flow::{call, result, run};
use crate::scene::{run_args, team_with, world, world_with};

/// A server that writes down its starts in `directory`.
fn server(directory: &Path, name: &str, mode: &str) -> Value {
    let starts = directory.join(name).display().to_string();
    json!({"command": PROGRAM, "args": ["--mode", mode, "--starts", starts]})
}

fn starts(directory: &Path, name: &str) -> Vec<u32> {
    let text = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
    let whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    whole.map(|line| line.trim().parse().unwrap()).collect()
}

/// The type `caller`, with these fields beside what it has to have.
fn caller(fields: &Value) -> String {
    let mut caller = json!({"description": "calls", "prompt": "You are caller."});
    let (caller_fields, further) = (caller.as_object_mut().unwrap(), fields.as_object().unwrap());
    caller_fields.extend(further.clone());
    json!({"caller": caller}).to_string()
}

fn starts_caller(id: &str) -> Step {
    let input = json!({"description": "call", "prompt": "call it", "subagent_type": "caller"});
    Step::says(Reply::tool(id, "Agent", input))
}

#[test]
fn o6_a_sub_agents_own_server_ends_with_it_and_a_shared_one_stays_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let seen: Arc<OnceLock<(bool, bool)>> = Arc::default();
    let (path, note) = (directory.path().to_owned(), Arc::clone(&seen));
    let looks = Step::thinks(move |_| {
        let lives = |name| starts(&path, name).iter().any(|pid| runs(*pid));
        note.get_or_init(|| (lives("mine"), lives("kit")));
        Reply::tool("three", "mcp__kit__pid", json!({"text": ""}))
    });
    let lead = [starts_caller("sub"), looks, Step::says(Reply::text("done"))];
    let child = [
        call("one", "mcp__mine__pid", ""),
        call("two", "mcp__kit__pid", ""),
        Step::says(Reply::tool("all", "ListMcpResourcesTool", json!({}))),
        Step::says(Reply::text("called both")),
    ];
    let script = Script::new().agent("team-lead", lead);
    let (api, world) = world_with(script.agent("caller", child));
    let kit = json!({"mcpServers": {"kit": server(directory.path(), "kit", "rich")}}).to_string();
    let own = json!({"mine": server(directory.path(), "mine", "rich")});
    let agents = caller(&json!({"mcpServers": [own, "kit"], "requiredMcpServers": ["KI"]}));
    let flags = ["--mcp-config", &kit, "--agents", &agents];
    let finished = run(
        &world,
        &[&flags[..], &["--mode", "bypassPermissions"]].concat(),
    );
    let story = finished.story();
    assert_eq!(finished.ok().json()["result"], "done", "{story}");
    assert!(result(&api, "team-lead", "sub").0.contains("called both"));
    let (mine, kit) = (
        starts(directory.path(), "mine"),
        starts(directory.path(), "kit"),
    );
    assert_eq!((mine.len(), kit.len()), (1, 1), "{story}");
    assert_eq!(result(&api, "caller", "one"), (mine[0].to_string(), false));
    assert_eq!(result(&api, "caller", "two"), (kit[0].to_string(), false));
    let (resources, _) = result(&api, "caller", "all");
    assert!(
        resources.contains(r#""server":"kit""#) && resources.contains(r#""server":"mine""#),
        "{resources}"
    );
    assert_eq!(
        result(&api, "team-lead", "three").0,
        kit[0].to_string(),
        "the lead and its sub-agent have one process"
    );
    assert_eq!(
        seen.get(),
        Some(&(false, true)),
        "when the lead goes on, whether its sub-agent's server runs, and the shared one"
    );
    let of_lead = &api.requests_of("team-lead")[0].ask;
    assert!(of_lead.tools().contains(&"mcp__kit__echo"));
    assert!(!of_lead.tools().contains(&"mcp__mine__echo"));
    assert!(!runs(kit[0]));
}

#[test]
fn o6_a_sub_agent_interrupted_while_its_server_starts_leaves_no_server() {
    let directory = tempfile::tempdir().unwrap();
    let (_api, world) = world_with(Script::new().agent("team-lead", [starts_caller("sub")]));
    let own = json!([{"mute": server(directory.path(), "mute", "silent")}]);
    let agents = caller(&json!({"mcpServers": own}));
    let running = world.start(&run_args(
        "Do it.",
        &["--mode", "bypassPermissions", "--agents", &agents],
    ));
    let pid = world.wait_for("its start", || starts(directory.path(), "mute").pop());
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    assert!(!runs(pid));
    assert_eq!(world.processes(), []);
}

#[test]
fn a_sub_agent_learns_which_server_failed_and_a_type_that_needs_it_is_refused() {
    let told = |fields: &Value| {
        let lead = [starts_caller("sub"), Step::says(Reply::text("done"))];
        let script = Script::new().agent("team-lead", lead);
        let child = [Step::says(Reply::text("it was not there"))];
        let api = FakeApi::start(script.agent("caller", child));
        let world: World = world().with_api(&api);
        let broken = server(world.directory(), "broken.starts", "exits");
        let given = json!({"mcpServers": {"broken": broken}}).to_string();
        let agents = caller(fields);
        let finished = run(&world, &["--mcp-config", &given, "--agents", &agents]);
        finished.ok();
        (api, finished.stderr)
    };
    let directory = tempfile::tempdir().unwrap();
    let own = json!([{"mine": server(directory.path(), "mine", "exits")}]);
    let (api, stderr) = told(&json!({"mcpServers": own}));
    assert_eq!(
        result(&api, "team-lead", "sub").0.lines().next(),
        Some("it was not there")
    );
    let system = api.requests_of("caller")[0].ask.system();
    let words = "MCP server `mine` (agent caller): cannot connect";
    assert!(system.contains(words), "{words} in {system}");
    assert!(stderr.contains(words), "{words} in {stderr}");
    let (api, _) = told(&json!({"mcpServers": ["nobody"]}));
    let (why, is_error) = result(&api, "team-lead", "sub");
    assert!(
        is_error && why.contains("`nobody`: no MCP server has this name"),
        "{why}"
    );
    assert!(api.requests_of("caller").is_empty());
    let (api, _) = told(&json!({"requiredMcpServers": ["brok"]}));
    let (why, is_error) = result(&api, "team-lead", "sub");
    assert!(
        is_error
            && why.contains("`caller` requires MCP servers that are not available: brok")
            && why.contains("the licence has run out"),
        "{why}"
    );
    assert!(api.requests_of("caller").is_empty());
}

#[test]
fn a_member_whose_type_needs_a_server_that_is_not_there_is_refused_by_its_name() {
    let (_api, world) = team_with(Script::new());
    let broken = server(world.directory(), "broken.starts", "exits");
    let given = json!({"mcpServers": {"broken": broken}}).to_string();
    let refused = |needed: &str, code: i32| {
        let agents = caller(&json!({"requiredMcpServers": [needed]}));
        let spawn = ["spawn", "bob", "--backend", "headless", "--agent", "caller"];
        let flags = ["--agents", &agents, "--mcp-config", &given, "--json"];
        let error = world.swarm(&[&spawn[..], &flags].concat()).error(code);
        error["message"].as_str().unwrap().to_owned()
    };
    let why = refused("nobody", 5);
    assert!(
        why.contains("the required MCP server nobody is missing"),
        "{why}"
    );
    let why = refused("brok", 9);
    assert!(
        why.contains("agent type `caller` needs MCP servers that are not available: brok"),
        "{why}"
    );
    assert_eq!(world.team("demo").names(), ["team-lead"]);
    assert_eq!(world.processes(), []);
}
