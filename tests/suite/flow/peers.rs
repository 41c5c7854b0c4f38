//! Agents that look for each other, and a lead that stops a teammate.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Gate, Reply, Script, Step};

use crate::scene::{run_args, spawns, world_with};

fn call(id: &str, tool: &str, input: Value) -> Step {
    Step::says(Reply::tool(id, tool, input))
}

#[test]
fn agents_see_their_teammates_and_only_the_lead_stops_one() {
    let (looks, never) = (Gate::closed(), Gate::closed());
    let list = Reply::tool("list", "ListAgents", json!({}));
    let lead = [
        Step::says(spawns("alice")),
        Step::says(list.held_by(&looks, 0)),
        call("end", "TaskStop", json!({"task_id": "alice"})),
        call("again", "ListAgents", json!({})),
        Step::says(Reply::text("alice is gone")),
    ];
    let alice = [
        call("see", "ListAgents", json!({})),
        call("stop", "TaskStop", json!({"task_id": "team-lead"})),
        Step::says(Reply::text("never said").held_by(&never, 1)),
    ];
    let script = Script::new().agent("team-lead", lead).agent("alice", alice);
    let (api, world) = world_with(script);
    let more = ["--mode", "bypassPermissions"];
    let running = world.start(&run_args("have alice work", &more));
    let held = api.wait_for("alice's last request", "alice", |ask| ask.number == 3);
    let (seen, is_error) = held.ask.result_of("see").expect("a list");
    assert!(!is_error && seen.contains("- team-lead: "), "{seen}");
    let (refusal, is_error) = held.ask.result_of("stop").expect("a refusal");
    assert!(
        is_error && refusal.contains("only the team lead"),
        "{refusal}"
    );
    looks.open();
    running.wait().ok();
    let newest = api
        .requests()
        .into_iter()
        .rfind(|asked| asked.ask.agent == "team-lead");
    let result = |id: &str| newest.as_ref().and_then(|newest| newest.ask.result_of(id));
    let (listed, _) = result("list").expect("a list");
    assert!(listed.contains("- alice: working"), "{listed}");
    let (stopped, is_error) = result("end").expect("a result");
    assert!(!is_error, "{stopped}");
    let stopped: Value = serde_json::from_str(&stopped).expect("JSON");
    assert_eq!(stopped["task_type"], "teammate");
    assert_eq!(stopped["message"], "alice has shut down");
    let (after, _) = result("again").expect("a list");
    assert!(after.starts_with("Teammates (0)"), "{after}");
    assert_eq!(world.processes(), []);
}
