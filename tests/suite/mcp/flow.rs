//! Servers in the hands of leads and teammates.

use rustix::process::Signal;
use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Reply, Script, Step};
use swarm_tests::stage::{Finished, Running, World};
use swarm_tests::wait_for;

use super::bench::{PROGRAM, runs};
use crate::scene::{
    kill_member, run_args, spawn_args, team_with, wait_for_state, world, world_with,
};

pub(super) fn config(world: &World, name: &str, mode: &str) -> String {
    let starts = starts_file(world, name);
    json!({"mcpServers": {name: {"command": PROGRAM, "args": ["--mode", mode, "--starts", starts]}}})
        .to_string()
}

fn starts_file(world: &World, name: &str) -> String {
    // Where no agent can write: otherwise the server would run in the sandbox.
    let path = world.directory().join("out").join(name);
    path.display().to_string()
}

fn starts(world: &World, name: &str) -> Vec<u32> {
    let text = std::fs::read_to_string(starts_file(world, name)).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

pub(super) fn call(id: &str, tool: &str, text: &str) -> Step {
    Step::says(Reply::tool(id, tool, json!({"text": text})))
}

fn allow(world: &World, rules: &[&str]) {
    let settings = json!({"permissions": {"allow": rules}});
    world.write("root/settings.json", &settings.to_string());
}

pub(super) fn run(world: &World, further: &[&str]) -> Finished {
    world.swarm(&run_args(
        "Do it.",
        &[&["--output", "json"], further].concat(),
    ))
}

pub(super) fn result(api: &FakeApi, agent: &str, id: &str) -> (String, bool) {
    let asks = api.requests_of(agent);
    let found = asks.iter().find_map(|recorded| recorded.ask.result_of(id));
    found.unwrap_or_else(|| panic!("{agent} had no result of {id}\n{}", api.summary()))
}

fn mates(names: &[&str]) -> Vec<Step> {
    names
        .iter()
        .map(|name| {
            let input = json!({"name": name, "description": "call", "prompt": "call it"});
            Step::says(Reply::tool(format!("spawn-{name}"), "Agent", input))
        })
        .collect()
}

#[test]
fn a_lead_calls_a_trusted_repositorys_server_and_no_key_reaches_it() {
    let script = Script::new().agent(
        "team-lead",
        [
            call("one", "mcp__kit__echo", "hello"),
            call("two", "mcp__kit__env", "ANTHROPIC_API_KEY"),
            call("three", "mcp__kit__env", "SWARM_SPAWN_ID"),
            Step::says(Reply::text("done")),
        ],
    );
    let (api, world) = world_with(script);
    let kit = json!({"kit": {"command": PROGRAM, "args": ["--mode", "well"]}});
    let servers = json!({"mcpServers": kit}).to_string();
    world.write("project/.mcp.json", &servers);
    allow(&world, &["mcp__kit"]);
    let finished = run(&world, &["--trust"]);
    assert_eq!(
        finished.ok().json()["result"],
        "done",
        "{}",
        finished.story()
    );
    assert_eq!(
        result(&api, "team-lead", "one"),
        ("echo: hello".to_owned(), false)
    );
    assert_eq!(result(&api, "team-lead", "two").0, "(not set)");
    assert_eq!(
        result(&api, "team-lead", "three").0.len(),
        36,
        "the mark of its owner"
    );
    let requests = api.requests_of("team-lead");
    let tools = |ask: &Ask| {
        let mut tools = ask.body["tools"].clone();
        // A mark of the cache is no part of what is cached.
        for tool in tools.as_array_mut().unwrap() {
            tool.as_object_mut().unwrap().remove("cache_control");
        }
        tools.to_string()
    };
    let first = tools(&requests[0].ask);
    for recorded in &requests {
        assert_eq!(tools(&recorded.ask), first);
    }
    assert!(requests[0].ask.tools().contains(&"mcp__kit__echo"));
    assert_eq!(world.processes(), []);
}

#[test]
fn an_untrusted_repository_starts_no_server_and_this_is_reported() {
    let (_api, world) =
        world_with(Script::new().agent("team-lead", [Step::says(Reply::text("done"))]));
    world.write("project/.mcp.json", &config(&world, "kit", "well"));
    let finished = run(&world, &[]);
    finished.ok();
    finished.stderr_has("swarm trust");
    assert!(starts(&world, "kit").is_empty());
}

#[test]
fn a_failed_server_is_reported_to_the_person_and_the_model() {
    let (api, world) =
        world_with(Script::new().agent("team-lead", [Step::says(Reply::text("done"))]));
    world.write("kit.json", &config(&world, "kit", "exits"));
    let path = world.directory().join("kit.json").display().to_string();
    let finished = run(&world, &["--mcp-config", &path]);
    finished.ok();
    finished.stderr_has("the licence has run out");
    let system = api.requests_of("team-lead")[0].ask.system();
    assert!(system.contains("MCP server `kit`"), "{system}");
    let wrong = run(&world, &["--json", "--mcp-config", "nowhere.json"]);
    assert!(
        wrong.error(2)["message"]
            .as_str()
            .unwrap()
            .contains("nowhere.json")
    );
}

#[test]
fn o6_teammates_know_the_leads_servers_and_start_one_only_to_call_it() {
    let mut lead = mates(&["ann", "bob"]);
    lead.push(Step::says(Reply::text("waiting")));
    lead.push(Step::says(Reply::text("done")).once_seen("called it"));
    let script = Script::new()
        .agent("team-lead", lead)
        .agent("ann", [Step::says(Reply::text("nothing for me"))])
        .agent(
            "bob",
            [
                call("one", "mcp__kit__pid", ""),
                Step::says(Reply::text("called it")),
            ],
        );
    let (api, world) = world_with(script);
    let given = config(&world, "kit", "well");
    let finished = run(
        &world,
        &["--mcp-config", &given, "--mode", "bypassPermissions"],
    );
    assert_eq!(
        finished.ok().json()["result"],
        "done",
        "{}",
        finished.story()
    );
    let started = starts(&world, "kit");
    assert_eq!(started.len(), 2, "the lead's, and bob's at his call");
    assert_eq!(result(&api, "bob", "one").0, started[1].to_string());
    for mate in ["ann", "bob"] {
        let tools = api.requests_of(mate)[0].ask.body["tools"].clone();
        assert!(tools.to_string().contains("mcp__kit__echo"), "{mate}");
    }
    assert!(!started.iter().any(|pid| runs(*pid)));
}

pub(super) fn spawn(world: &World, given: &str, mode: &str) {
    let words = spawn_args(
        "bob",
        "headless",
        &["--mode", mode, "--prompt", "go", "--mcp-config", given],
    );
    world.swarm(&words).ok();
}

#[test]
fn a_call_is_asked_about_and_runs_once_a_person_says_yes() {
    let script = Script::new().agent(
        "bob",
        [
            call("one", "mcp__kit__echo", "may I"),
            Step::says(Reply::text("done")),
        ],
    );
    let (api, world) = team_with(script);
    let given = config(&world, "kit", "well");
    spawn(&world, &given, "default");
    wait_for_state(&world, "bob", "waiting-permission");
    let hello = world.team("demo").hello("bob");
    assert!(
        hello["tools"]
            .as_array()
            .unwrap()
            .contains(&Value::from("mcp__kit__echo")),
        "{hello}"
    );
    let request = world.team("demo").requests()[0].clone();
    let id = request["id"].as_str().unwrap();
    world.swarm(&["approve", id, "--always"]).ok();
    world.wait_for("the result", || {
        let asks = api.requests_of("bob");
        asks.iter()
            .find_map(|recorded| recorded.ask.result_of("one"))
    });
    assert_eq!(
        result(&api, "bob", "one"),
        ("echo: may I".to_owned(), false)
    );
    let rights = world.swarm(&["permissions", "bob"]).ok().stdout.clone();
    assert!(rights.contains("mcp__kit__echo"), "{rights}");
    let log = world
        .team("demo")
        .member_directory("bob")
        .join("mcp-kit.log");
    assert!(log.exists());
    world.swarm(&["shutdown", "bob"]).ok();
    assert!(!starts(&world, "kit").iter().any(|pid| runs(*pid)));
}

#[test]
fn o6_a_member_that_is_killed_leaves_no_server_behind() {
    let (_api, world) = team_with(Script::new());
    let given = config(&world, "stubborn", "stubborn");
    spawn(&world, &given, "plan");
    let pid = starts(&world, "stubborn")[0];
    kill_member(&world, "bob");
    assert!(runs(pid), "it ignores the end of its input");
    world.swarm(&["reap"]).ok();
    wait_for_the_end_of(pid);
    let left: Vec<_> = world.processes();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn doctor_tries_every_server_and_reports_the_result() {
    let world = world();
    let near: Value = serde_json::from_str(&config(&world, "kit", "well")).unwrap();
    let broken: Value = serde_json::from_str(&config(&world, "broken", "exits")).unwrap();
    let mut both = near;
    both["mcpServers"]["broken"] = broken["mcpServers"]["broken"].clone();
    both["mcpServers"]["old"] = json!({"type": "sse", "url": "http://127.0.0.1:1/sse"});
    world.write("root/.mcp.json", &both.to_string());
    let said = world.swarm(&["doctor"]).stdout.clone();
    for words in [
        "ok       mcp server: kit (",
        "7 tools after",
        "mcp__kit__echo",
        "warning  mcp server: broken (",
        "the licence has run out",
        "ignoring MCP server `old`",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert!(!starts(&world, "kit").iter().any(|pid| runs(*pid)));
}

/// A doctor that waits for a server which never answers, and the server's pid.
fn doctor_that_waits(world: &World) -> (Running, u32) {
    world.write("root/.mcp.json", &config(world, "mute", "silent"));
    world.write("root/swarm.toml", "[mcp]\nstart_timeout_s = 3600\n");
    let doctor = world.start(&["doctor"]);
    let pid = wait_for(
        "the start of the server",
        || doctor.stderr(),
        || starts(world, "mute").first().copied(),
    );
    (doctor, pid)
}

fn wait_for_the_end_of(pid: u32) {
    let ended = || (!runs(pid)).then_some(());
    wait_for("the end of the server", || format!("{pid} runs"), ended);
}

#[test]
fn an_interrupted_doctor_stops_the_servers_it_tries() {
    for signal in [Signal::INT, Signal::TERM] {
        let world = world();
        let (doctor, pid) = doctor_that_waits(&world);
        doctor.signal(signal);
        doctor.wait().assert_code(130);
        wait_for_the_end_of(pid);
    }
}

#[test]
fn what_a_killed_doctor_leaves_is_reaped() {
    let world = world();
    let (doctor, pid) = doctor_that_waits(&world);
    doctor.signal(Signal::KILL);
    doctor.wait();
    world.swarm(&["reap"]).ok();
    wait_for_the_end_of(pid);
}
