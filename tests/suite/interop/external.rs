//! Members that other programs run, and teams that Claude Code leads.

use serde_json::json;
use swarm_tests::stage::World;

use super::programs::{ACP_AGENT, install};
use crate::scene::{world, world_with_team};

/// Writes a control frame into the lead's inbox, as the program of carl would.
fn answer(world: &World, kind: &str, request: &str, more: &serde_json::Value) {
    let team = world.team("demo");
    let mut frame = json!({
        "type": kind, "requestId": request, "from": "carl", "timestamp": "2026-11-24T00:00:00.000Z",
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        frame[name] = value.clone();
    }
    let mut entries = team.inbox("team-lead");
    entries.push(json!({
        "from": "carl", "text": frame.to_string(), "timestamp": "2026-11-24T00:00:00.000Z", "read": false,
    }));
    std::fs::write(team.inbox_path("team-lead"), json!(entries).to_string()).expect("the inbox");
}

#[test]
fn a_member_of_another_program_is_asked_to_stop_and_keeps_its_team_alive() {
    let world = world_with_team("demo");
    let team = world.team("demo");
    world.swarm(&["team", "add", "carl", "--external"]).ok();
    world
        .swarm(&["team", "add", "carl", "--external"])
        .assert_code(4);
    assert!(team.member("carl").expect("carl")["swarm"].is_null());
    for (is_active, shown) in [(true, "working"), (false, "idle")] {
        let mut config = team.config();
        config["members"][1]["isActive"] = json!(is_active);
        std::fs::write(team.directory().join("config.json"), config.to_string()).unwrap();
        let status = world.swarm(&["status"]).ok().stdout.clone();
        let line = status.lines().find(|line| line.starts_with("carl"));
        let line = line.expect("carl's line");
        assert!(line.contains("foreign") && line.contains(shown), "{status}");
    }
    world
        .swarm(&["task", "create", "tidy up", "--owner", "carl"])
        .ok();
    world
        .swarm(&["team", "delete", "demo"])
        .code(4)
        .stderr_has("may be running");

    world
        .swarm(&["shutdown", "carl", "--timeout", "0"])
        .code(5)
        .stderr_has("swarm team remove carl");
    let asked = |count: usize| {
        let frames = team.frames("carl", "shutdown_request");
        let last = frames.last()?["requestId"].as_str()?.to_owned();
        (frames.len() == count).then_some(last)
    };
    let shutdown = world.start(&["shutdown", "carl", "--timeout", "60"]);
    let request = world.wait_for("the request", || asked(2));
    answer(
        &world,
        "shutdown_rejected",
        &request,
        &json!({"reason": "not yet"}),
    );
    shutdown.wait().code(5).stderr_has("not yet");

    let shutdown = world.start(&["shutdown", "--all", "--timeout", "60"]);
    let request = world.wait_for("the request", || asked(3));
    answer(&world, "shutdown_approved", &request, &json!({}));
    shutdown.wait().ok();
    assert!(team.member("carl").is_none());
    assert!(team.task(1)["owner"].is_null(), "{}", team.task(1));
    world.swarm(&["team", "delete", "demo"]).ok();
}

#[test]
fn a_stale_member_is_removed_by_hand_with_a_warning() {
    let world = world_with_team("demo");
    world.swarm(&["team", "add", "carl", "--external"]).ok();
    world
        .swarm(&["team", "remove", "carl"])
        .ok()
        .stderr_has("was not stopped");
    assert_eq!(world.team("demo").names(), ["team-lead"]);
}

#[test]
fn the_commands_to_join_are_ready_to_paste() {
    let world = world_with_team("demo");
    install(&world, "agent", ACP_AGENT);
    let spawn = ["spawn", "bob", "--runtime", "acp:./agent"];
    world
        .swarm(&[&spawn[..], &["--backend", "headless"]].concat())
        .ok();
    let ways = world
        .swarm(&["join", "demo", "--as", "carl", "--json"])
        .json();
    let lines = |way: usize| ways["ways"][way]["shell"].as_array().expect("lines");
    let line = |way: usize, at: usize| lines(way)[at].as_str().expect("a line").to_owned();
    // The first line of a way adds the member, the next one connects Claude Code.
    let added = line(0, 0);
    assert!(
        added.ends_with("team add carl --external --team demo"),
        "{added}"
    );
    let connected = line(0, 1);
    assert!(
        connected.starts_with("claude mcp add swarm -- "),
        "{connected}"
    );
    assert!(
        connected.ends_with(" mcp --team demo --as carl"),
        "{connected}"
    );
    assert!(line(1, 1).contains("--agent-id carl@demo"), "{ways}");
    assert!(line(2, 0).ends_with("mcp --team demo"), "{ways}");
    world.swarm(&["team", "add", "carl", "--external"]).ok();
    let known = world.swarm(&["join", "--as", "carl"]);
    known.ok().stdout_lacks("team add");
    known.stdout_has("Call wait_for_mail");

    world.swarm(&["join", "demo", "--as", "bob"]).assert_code(4);
    world.swarm(&["join", "other"]).assert_code(3);
    world.swarm(&["join", "--as", "team-lead"]).assert_code(2);
    world.swarm(&["kill", "bob"]).ok();
}

/// The files of a session of Claude Code whose lead is the process `pid`.
fn enter_session(world: &World, pid: u32, start: &str) {
    let directory = world.root().join("teams/session-1");
    std::fs::create_dir_all(directory.join("inboxes")).unwrap();
    let config = json!({
        "name": "session-1", "createdAt": 4_102_444_800_000_u64, "leadAgentId": "team-lead@session-1",
        "leadProcess": {
            "pid": pid, "procStart": start, "pidSpace": swarm_os::process::pid_space(), "claimedAt": 1,
        },
        "members": [{
            "agentId": "team-lead@session-1", "name": "team-lead", "agentType": "team-lead",
            "joinedAt": 1, "tmuxPaneId": "leader", "cwd": world.project(), "subscriptions": [],
        }],
        "unknown": {"kept": true},
    });
    std::fs::write(directory.join("config.json"), config.to_string()).unwrap();
}

#[test]
fn members_join_a_team_that_claude_code_leads_and_a_dead_session_is_taken_over() {
    let world = world();
    let own = std::process::id();
    enter_session(&world, own, &swarm_store::process::start_time(own).unwrap());
    world.swarm(&["team", "create", "mine"]).ok();
    install(&world, "agent", ACP_AGENT);
    let session = ["--team", "session-1"];
    let spawn = [
        "spawn",
        "bob",
        "--runtime",
        "acp:./agent",
        "--backend",
        "headless",
    ];
    world
        .swarm(&[&spawn[..], &session, &["--prompt", "hello"]].concat())
        .ok();
    let team = world.team("session-1");
    world.wait_until("bob reports to Claude Code", || {
        team.frames("team-lead", "idle_notification").len() == 1
    });
    world
        .swarm(&[&["task", "create", "x"], &session[..]].concat())
        .ok();
    world
        .swarm(&[&["send", "bob", "hi"], &session[..]].concat())
        .ok();
    assert_eq!(team.config()["unknown"]["kept"], true);
    let default = world.swarm(&["team", "show", "--json"]).json();
    assert_eq!(default["name"], "mine", "it is not the default");
    let join = world.swarm(&["join", "session-1"]);
    join.ok().stdout_has("Spawn a teammate");
    let to_lead = ["send", "team-lead", "hi", "--from", "carl", "--json"];
    world
        .swarm(&[&["team", "add", "carl", "--external"], &session[..]].concat())
        .ok();
    let sent = world.swarm(&[&to_lead[..], &session[..]].concat());
    assert!(
        sent.ok().stdout.contains("\"unknown\""),
        "the lead is a program: {}",
        sent.story()
    );
    world
        .swarm(&[&["team", "remove", "carl"], &session[..]].concat())
        .ok();
    world.swarm(&[&["kill", "bob"], &session[..]].concat()).ok();

    let mut config = team.config();
    config["leadProcess"]["procStart"] = json!("1");
    std::fs::write(team.directory().join("config.json"), config.to_string()).unwrap();
    world
        .swarm(&["join", "session-1"])
        .code(4)
        .stderr_has("swarm resume session-1");
    world.swarm(&["resume", "session-1"]).ok();
    world.swarm(&["team", "delete", "session-1"]).ok();
}

#[test]
fn a_lead_waits_for_a_member_of_another_program() {
    let api = swarm_tests::fake_api::FakeApi::start(|_ask: &swarm_tests::fake_api::Ask| {
        swarm_tests::fake_api::Reply::text("done")
    });
    let world = crate::scene::world_over(&api);
    world.swarm(&["team", "add", "carl", "--external"]).ok();
    world
        .swarm(&["task", "create", "tidy up", "--owner", "carl"])
        .ok();
    let model = "anthropic/claude-sonnet-4-6";
    let run = world.start(&["resume", "demo", "go", "--model", model]);
    world.wait_until("the lead's turn has ended", || {
        world.team("demo").events("turn_ended").len() == 1
    });
    let done = ["task", "update", "1", "--status", "completed"];
    world.swarm(&[&done[..], &["--as", "carl"]].concat()).ok();
    world.swarm(&["inbox", "carl", "--unread", "--ack"]).ok();
    run.wait().ok();
}
