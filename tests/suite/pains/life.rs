//! Members that do not stop, and deaths that go unnoticed.

use rustix::process::Signal;
use serde_json::json;
use swarm_tests::fake_api::{Ask, Gate, Reply};

use crate::scene::{
    idle_world, kill_member, signal_member, spawn_idle, spawn_with, team_with, wait_for_state,
};

#[test]
fn l1_a_member_in_an_endless_turn_is_stopped() {
    let (_api, world) = team_with(|ask: &Ask| {
        if ask.news_has("work for ever") {
            Reply::tool(
                "t1",
                "Bash",
                json!({"command": "trap '' TERM HUP INT; sleep 600"}),
            )
        } else {
            Reply::text("idle")
        }
    });
    spawn_idle(&world, "bob");
    world.swarm(&["send", "bob", "work for ever"]).ok();
    wait_for_state(&world, "bob", "working");
    let ended = world
        .swarm(&["shutdown", "bob", "--timeout", "2", "--json"])
        .json();
    assert!(ended.to_string().contains("outcome"), "{ended}");
    assert_eq!(world.processes(), [], "everything it started is gone, too");
    assert_eq!(world.team("demo").names(), ["team-lead"]);
}

#[test]
fn l1_a_frozen_member_is_killed() {
    let (_api, world) = idle_world("idle", "bob");
    signal_member(&world, "demo", "bob", Signal::STOP);
    let ended = world
        .swarm(&["shutdown", "bob", "--timeout", "1", "--json"])
        .json();
    assert!(ended.to_string().contains("killed"), "{ended}");
    assert_eq!(world.processes(), []);
    assert_eq!(world.team("demo").names(), ["team-lead"]);
    let stopped = world.team("demo").events("member_stopped");
    assert_eq!(stopped.len(), 1, "{stopped:?}");
    assert_eq!(stopped[0]["how"], "killed");
}

#[test]
fn l1_an_agent_may_refuse_a_shutdown_with_a_reason_and_keeps_running() {
    let (gate, held) = Gate::pair();
    let (api, world) = team_with(move |ask: &Ask| {
        if ask.news_has("long work") {
            return Reply::tool("t1", "Bash", json!({"command": "echo half"})).held_by(&held, 1);
        }
        let request = ask.news().split_once("shutdown-").map(|(_, rest)| {
            let id: String = rest
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || "@-_".contains(*c))
                .collect();
            format!("shutdown-{id}")
        });
        match request {
            Some(id) => Reply::tool(
                "t2",
                "SendMessage",
                json!({"to": "team-lead", "message": {
                    "type": "shutdown_response", "request_id": id, "approve": false, "reason": "the tests still run"}}),
            ),
            None => Reply::text("ok"),
        }
    });
    spawn_idle(&world, "bob");
    world.swarm(&["send", "bob", "long work"]).ok();
    api.wait_for("the turn", "bob", |ask| ask.news_has("long work"));
    let asking = world.start(&[
        "shutdown",
        "bob",
        "--reason",
        "time is up",
        "--timeout",
        "15",
        "--json",
    ]);
    world.wait_until("the request is in the inbox", || {
        !world
            .team("demo")
            .frames("bob", "shutdown_request")
            .is_empty()
    });
    gate.open();
    let refused = asking.wait();
    refused.assert_code(5);
    assert!(
        refused.story().contains("the tests still run"),
        "{}",
        refused.story()
    );
    wait_for_state(&world, "bob", "idle");
    assert_eq!(world.team("demo").names(), ["team-lead", "bob"]);
    // It is asked when it is idle, too.
    world.swarm(&["shutdown", "bob"]).assert_code(5);
    world.swarm(&["shutdown", "bob", "--force"]).ok();
}

#[test]
fn l6_a_lead_hears_once_of_a_dead_member_and_its_task_is_free() {
    let (_api, world) = idle_world("here", "bob");
    world.swarm(&["task", "create", "unfinished"]).ok();
    world.swarm(&["task", "claim", "1", "--as", "bob"]).ok();
    kill_member(&world, "bob");
    let team = world.team("demo");
    for _ in 0..3 {
        let status = world.swarm(&["status", "--json"]).json();
        let members = status["members"].as_array().unwrap();
        let bob = members
            .iter()
            .find(|member| member["name"] == "bob")
            .unwrap();
        assert_eq!(bob["state"], "dead");
    }
    assert_eq!(team.events("member_died").len(), 1);
    assert_eq!(team.task(1)["status"], "pending");
    assert!(team.task(1)["owner"].is_null(), "{}", team.task(1));
}

#[test]
fn an_unanswered_permission_is_denied_and_a_granted_one_counts_once() {
    let (api, world) = team_with(|ask: &Ask| {
        let call = |id: &str| Reply::tool(id, "Bash", json!({"command": "touch made"}));
        match (ask.result_of("t1"), ask.result_of("t2")) {
            (None, _) => call("t1"),
            (Some(_), None) => call("t2"),
            _ => Reply::text("done"),
        }
    });
    spawn_with(&world, "bob", &["--mode", "default", "--prompt", "make it"]);
    let open = |count: usize| {
        world.wait_for(&format!("request {count}"), || {
            let mut requests = world.team("demo").requests();
            requests.retain(|request| request["state"]["is"] == "open");
            (requests.len() == 1 && world.team("demo").events("request_opened").len() == count)
                .then(|| requests.remove(0))
        })
    };
    let first = open(1)["id"].as_str().unwrap().to_owned();
    wait_for_state(&world, "bob", "waiting-permission");
    world.swarm(&["deny", &first, "--why", "not now"]).ok();
    let told = api.wait_for("the refusal", "bob", |ask| ask.result_of("t1").is_some());
    let (text, is_error) = told.ask.result_of("t1").unwrap();
    assert!(is_error && text.contains("not now"), "{text}");
    assert!(!world.project().join("made").exists());
    let second = open(2)["id"].as_str().unwrap().to_owned();
    world.swarm(&["approve", &second]).ok();
    api.wait_for("the result", "bob", |ask| ask.result_of("t2").is_some());
    assert!(world.project().join("made").exists());
    world.swarm(&["approve", &second, "--json"]).error(4);
    world.swarm(&["shutdown", "bob"]).ok();
}
