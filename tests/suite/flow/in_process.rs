//! Teammates in the process of their lead.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use swarm_tests::fake_api::{Block, FakeApi, Gate, Reply, Script, Step};
use swarm_tests::stage::{Running, World};

use crate::scene::{
    MODEL, column, wait_for_file, wait_for_no_process, wait_for_state, wait_until_gone, world_with,
};

/// A run of the team `demo` with teammates in its process, whose lead waits for the gate.
struct Lead {
    world: World,
    running: Running,
    gate: Gate,
    _api: FakeApi,
}

impl Lead {
    /// Starts the run. Each mate gets its first answers from `turns`.
    fn start(mates: &[&str], mode: &str, turns: impl Fn(&str) -> Vec<Step>) -> Self {
        Self::start_with(mates, &["--mode", mode], &[], turns)
    }

    fn start_with(
        mates: &[&str],
        more: &[&str],
        variables: &[(String, String)],
        turns: impl Fn(&str) -> Vec<Step>,
    ) -> Self {
        let gate = Gate::closed();
        let calls = mates.iter().map(|name| {
            let input = json!({"name": name, "description": "work", "prompt": "hello"});
            Block::tool(*name, "Agent", input)
        });
        let lead = [
            Step::says(Reply::blocks(calls.collect::<Vec<_>>())),
            Step::says(Reply::text("all done").held_by(&gate, 1)),
        ];
        let script = mates.iter().fold(Script::new(), |script, name| {
            script.agent(*name, turns(name))
        });
        let (api, world) = world_with(script.agent("team-lead", lead));
        world.commit_project();
        let fixed = ["run", "go", "--model", MODEL, "--team", "demo"];
        let backend = ["--backend", "in-process", "--output", "json"];
        let arguments = [&fixed[..], &backend, more].concat();
        let running = world.start_with(&arguments, variables);
        Self {
            world,
            running,
            gate,
            _api: api,
        }
    }
}

fn runs(command: &str) -> Vec<Step> {
    vec![
        Step::says(Reply::tool("t1", "Bash", json!({"command": command}))),
        Step::says(Reply::text("I am done")),
    ]
}

#[test]
fn a_member_is_killed_and_its_lead_and_other_members_go_on() {
    let lead = Lead::start(&["bob", "eve"], "bypassPermissions", |name| {
        runs(&format!("touch begun-{name}; sleep 1000"))
    });
    let world = &lead.world;
    wait_for_file(world, "begun-bob");
    wait_for_file(world, "begun-eve");
    let refused = world.swarm(&["attach", "bob", "--json"]).error(7);
    assert_eq!(
        (&refused["message"], &refused["hint"]),
        (
            &json!("bob has no pane: it runs in-process"),
            &json!("`swarm logs bob --follow` shows its output")
        )
    );
    for command in ["peek", "logs"] {
        let shown = world.swarm(&[command, "bob"]).ok().stdout.clone();
        assert!(shown.contains("touch begun"), "{command}: {shown}");
    }
    let processes_of = |name: &str| {
        let listed = world.swarm(&["ps", "--json"]).json();
        let mut listed = listed.as_array().unwrap().clone();
        listed.retain(|one| one["state"] != "elsewhere" && one["member"] == name);
        column(&json!(listed), "kind")
    };
    // They are part of their lead's process.
    assert_eq!(processes_of("team-lead"), ["lead"]);
    assert_eq!(processes_of("bob"), ["child"; 2]);
    let team = world.team("demo");
    for (name, left) in [("bob", &["team-lead", "eve"][..]), ("eve", &["team-lead"])] {
        assert_eq!(processes_of("eve"), ["child"; 2], "her command still runs");
        let killed = world.swarm(&["kill", name, "--json"]).json();
        assert_eq!(killed["outcome"], "killed", "{killed}");
        assert_eq!(team.names(), left);
    }
    lead.gate.open();
    let report = lead.running.wait().json();
    assert_eq!(report["outcome"], "completed");
    wait_for_no_process(world);
    assert_eq!(team.events("member_stopped").len(), 2);
    assert!(team.events("member_died").is_empty());
}

#[test]
fn a_turn_is_interrupted_and_the_member_is_paused_and_addressed() {
    let lead = Lead::start(&["bob"], "bypassPermissions", |_| {
        let again = Step::says(Reply::text("continued")).once_seen("are you there");
        let mut turns = runs("touch begun; sleep 1000");
        turns[1] = again;
        turns
    });
    let world = &lead.world;
    wait_for_file(world, "begun");
    world.swarm(&["interrupt", "bob"]).ok();
    wait_for_state(world, "bob", "idle");
    world.swarm(&["pause", "bob"]).ok();
    wait_for_state(world, "bob", "paused");
    world.swarm(&["continue", "bob"]).ok();
    let mode = world.swarm(&["mode", "bob", "plan", "--json"]).json();
    assert_eq!(
        (&mode["mode"], &mode["confirmed"]),
        (&json!("plan"), &json!(true))
    );
    world
        .swarm(&["send", "bob", "are you there", "--wait", "acked"])
        .ok();
    let shut_down = world
        .swarm(&["shutdown", "bob", "--force", "--json"])
        .json();
    assert_eq!(shut_down["outcome"], "approved", "{shut_down}");
    lead.gate.open();
    lead.running.wait().ok();
    wait_for_no_process(world);
}

#[test]
fn a_call_waits_for_the_answer_of_a_person() {
    let lead = Lead::start(&["bob"], "default", |_| runs("touch made"));
    let world = &lead.world;
    wait_for_state(world, "bob", "waiting-permission");
    world.swarm(&["approve", "p1"]).ok();
    wait_for_file(world, "made");
    lead.gate.open();
    lead.running.wait().ok();
    wait_for_no_process(world);
}

#[test]
fn ctrl_c_stops_members_with_their_lead() {
    let lead = Lead::start(&["bob", "eve"], "bypassPermissions", |name| {
        runs(&format!("touch begun-{name}; sleep 1000"))
    });
    let world = &lead.world;
    wait_for_file(world, "begun-bob");
    wait_for_file(world, "begun-eve");
    lead.running.signal(Signal::INT);
    lead.running.wait().assert_code(130);
    assert_eq!(world.processes(), []);
    assert_eq!(world.team("demo").names(), ["team-lead"]);
}

#[test]
fn members_end_with_a_lead_that_leaves_its_team() {
    let lead = Lead::start(&["bob"], "bypassPermissions", |_| {
        runs("touch begun; sleep 1000")
    });
    let world = &lead.world;
    wait_for_file(world, "begun");
    lead.running.signal(Signal::HUP);
    lead.running.wait().assert_code(130);
    assert_eq!(world.processes(), []);
    let team = world.team("demo");
    let state = team.state("bob");
    assert_eq!(
        (&state["state"], &state["detail"]),
        (
            &json!("dead"),
            &json!("it was stopped in its lead's process")
        )
    );
    assert_eq!(team.names(), ["team-lead", "bob"], "it can be respawned");
}

#[test]
fn members_die_with_a_lead_that_is_killed() {
    let variables = [("SWARM_SANDBOX_BASH".to_owned(), "off".to_owned())];
    let more = ["--mode", "bypassPermissions"];
    let lead = Lead::start_with(&["bob"], &more, &variables, |_| {
        runs("touch begun; sleep 1000")
    });
    let world = &lead.world;
    wait_for_file(world, "begun");
    let pid = world.team("demo").life("bob")["pid"].as_i64().unwrap();
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    wait_until_gone(world, pid);
    let shown = world.swarm(&["status", "--json", "--team", "demo"]).json();
    let bob = &shown["members"][1];
    assert_eq!(
        (&bob["name"], &bob["state"]),
        (&json!("bob"), &json!("dead"))
    );
    world.swarm(&["resume", "demo"]).ok();
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
    wait_for_no_process(world);
    let sockets = format!("sockets/tmux-{}", rustix::process::getuid().as_raw());
    let records = world.directory().join(sockets).join("in-process");
    assert_eq!(std::fs::read_dir(records).unwrap().count(), 0);
}

#[test]
fn each_member_has_its_own_sandbox() {
    let lead = Lead::start(&["bob", "eve"], "bypassPermissions", |name| {
        runs(&format!(
            "readlink /proc/self/ns/mnt > part-{name}; mv part-{name} seen-{name}"
        ))
    });
    let world = &lead.world;
    let seen = |name: &str| {
        wait_for_file(world, name);
        std::fs::read_to_string(world.project().join(name)).unwrap()
    };
    let (bob, eve) = (seen("seen-bob"), seen("seen-eve"));
    let own = std::fs::read_link("/proc/self/ns/mnt").unwrap();
    // Without user namespaces there is one for all.
    if bob.trim() != own.to_string_lossy() {
        assert_ne!(bob, eve);
    }
    lead.gate.open();
    lead.running.wait().ok();
    wait_for_no_process(world);
}

#[test]
fn a_command_of_a_member_acts_for_it_and_not_for_its_lead() {
    let program = "swarm";
    let variables = [("SWARM_SANDBOX_BASH".to_owned(), "off".to_owned())];
    let more = ["--mode", "bypassPermissions"];
    let lead = Lead::start_with(&["bob", "eve"], &more, &variables, |name| {
        runs(&format!(
            "{program} send team-lead 'from {name}' --json > sent; {program} approve p1 2> refused-{name}; \
             touch told-{name}"
        ))
    });
    let world = &lead.world;
    for name in ["bob", "eve"] {
        wait_for_file(world, &format!("told-{name}"));
        let refused = std::fs::read_to_string(world.project().join(format!("refused-{name}")));
        let refused = refused.unwrap();
        let is_told = format!("this is {name} of team demo");
        assert!(refused.contains(&is_told), "{refused}");
        let inbox = world.team("demo").inbox("team-lead");
        let mut from = inbox
            .iter()
            .filter(|entry| entry["text"] == format!("from {name}"));
        assert_eq!(from.next().unwrap()["from"], name);
    }
    lead.gate.open();
    lead.running.wait().ok();
    wait_for_no_process(world);
}
