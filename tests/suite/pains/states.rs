//! The states of members as commands report them.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Reply};
use swarm_tests::stage::{Running, World};

use crate::scene::{
    kill_member, run_args, spawn_args, spawn_idle, spawn_over, spawn_with, team_with,
    wait_for_state, world_over, world_saying,
};

/// Each member enters the state that it is named after, and stays there.
fn players(gate: &Gate) -> FakeApi {
    let held = gate.clone();
    FakeApi::start(move |ask: &Ask| {
        let first = |tool: &str, input: Value| match ask.result_of("t1") {
            None => Reply::tool("t1", tool, input),
            Some(_) => Reply::text("that was it"),
        };
        match ask.agent.as_str() {
            "works" => Reply::text("at last").held_by(&held, 1),
            "asks" => first("Bash", json!({"command": "touch made"})),
            "forgets" => first(
                "TaskUpdate",
                json!({"taskId": "1", "status": "in_progress"}),
            ),
            "throttled" => Reply::refusal(429).retry_after("300"),
            "team-lead" if ask.result_of("member").is_none() => Reply::tool(
                "member",
                "Agent",
                json!({"name": "parked", "description": "work", "prompt": "hello"}),
            ),
            "team-lead" => Reply::text("not yet").held_by(&held, 1),
            _ => Reply::text("here"),
        }
    })
}

/// Waits until `swarm status --json` reports exactly these states.
#[track_caller]
fn wait_for_states(world: &World, team: &str, expected: &[(&str, &str)]) {
    world.wait_for(&format!("these states: {expected:?}"), || {
        let status = world.swarm(&["status", "--team", team, "--json"]).json();
        let members = &status["members"].as_array()?[1..];
        let told = members
            .iter()
            .map(|member| (member["name"].as_str(), member["state"].as_str()));
        let expected = expected
            .iter()
            .map(|(name, state)| (Some(*name), Some(*state)));
        told.eq(expected).then_some(())
    });
}

/// A team whose lead was killed, with one member.
fn lose_a_lead(world: &World) {
    let arguments = run_args("go", &["--team", "lost", "--mode", "bypassPermissions"]);
    let lead = world.start(&arguments);
    let is_idle = || world.team("lost").state("parked")["state"] == "idle";
    world.wait_until("its member is idle", is_idle);
    lead.signal(Signal::KILL);
    assert_eq!(lead.wait().code, None);
}

#[test]
fn d8_each_state_is_reported_correctly() {
    let gate = Gate::closed();
    let api = players(&gate);
    let world = world_over(&api);
    world.swarm(&["task", "create", "the one"]).ok();
    for name in ["works", "forgets", "rests", "pauses", "stops", "dies"] {
        spawn_over(&world, name);
    }
    spawn_with(&world, "asks", &["--mode", "default", "--prompt", "go"]);
    for (name, state) in [
        ("forgets", "idle-unreported"),
        ("rests", "idle"),
        ("pauses", "idle"),
        ("stops", "idle"),
        ("dies", "idle"),
        ("asks", "waiting-permission"),
    ] {
        wait_for_state(&world, name, state);
    }
    // Last: what the server asks of one member holds for all.
    spawn_over(&world, "throttled");
    world.swarm(&["pause", "pauses", "--wait"]).ok();
    kill_member(&world, "dies");
    let mut expected = [
        ("works", "working"),
        ("forgets", "idle-unreported"),
        ("rests", "idle"),
        ("pauses", "paused"),
        ("stops", "idle"),
        ("dies", "dead"),
        ("asks", "waiting-permission"),
        ("throttled", "throttled"),
    ];
    wait_for_states(&world, "demo", &expected);

    // Another program has the lead's inbox, so that who agrees to stop cannot tell it yet.
    let inbox = world.team("demo").inbox_path("team-lead");
    let lock = inbox.with_extension("json.lock");
    // The last writer may not have released its lock yet.
    world.wait_for("the lock", || std::fs::create_dir(&lock).ok());
    let stopping = world.start(&["shutdown", "stops", "--force", "--timeout", "60"]);
    expected[4].1 = "stopping";
    wait_for_states(&world, "demo", &expected);
    std::fs::remove_dir(&lock).unwrap();
    stopping.wait().ok();
    let left = [&expected[..4], &expected[5..]].concat();
    wait_for_states(&world, "demo", &left);
    world.swarm(&["kill", "--all", "--team", "demo"]).ok();
}

#[test]
fn d8_a_member_whose_conversation_fills_the_window_is_exhausted() {
    let (_api, world) = team_with(|ask: &Ask| match ask.number {
        1 => Reply::text("here"),
        _ => Reply::too_long(40_000, 30_000),
    });
    spawn_idle(&world, "full");
    world.swarm(&["send", "full", "and now this"]).ok();
    wait_for_states(&world, "demo", &[("full", "exhausted")]);
    let shown = world.swarm(&["status"]).ok().stdout.clone();
    assert!(shown.contains("exhausted"), "{shown}");
    assert!(
        !shown.contains("in-process"),
        "a person has no pane: {shown}"
    );
    world.swarm(&["kill", "--all", "--team", "demo"]).ok();
}

#[test]
fn d8_background_commands_are_reported_in_every_state() {
    let (gate, held) = Gate::pair();
    let (_api, world) = team_with(move |ask: &Ask| match ask.number {
        1 => Reply::tool(
            "server",
            "Bash",
            json!({"command": "sleep 1000", "run_in_background": true}),
        ),
        2 => Reply::text("it runs").held_by(&held, 1),
        _ => Reply::text("idle"),
    });
    spawn_over(&world, "bob");
    let doing = || {
        let shown = world.swarm(&["status"]).ok().stdout.clone();
        shown
            .contains("in the background: sleep 1000")
            .then_some(shown)
    };
    let shown = world.wait_for("the command while it works", doing);
    assert!(shown.contains("working"), "{shown}");
    gate.open();
    wait_for_state(&world, "bob", "idle");
    assert!(doing().is_some_and(|shown| shown.contains("idle")));
    assert_eq!(
        world.team("demo").state("bob")["commands"],
        json!(["sleep 1000"])
    );
    world.swarm(&["kill", "--all", "--team", "demo"]).ok();
}

#[test]
fn d8_a_member_without_its_lead_is_parked() {
    let gate = Gate::closed();
    let api = players(&gate);
    let world = world_over(&api);
    lose_a_lead(&world);
    wait_for_states(&world, "lost", &[("parked", "parked")]);
    world.swarm(&["kill", "--all", "--team", "lost"]).ok();
}

#[test]
fn d8_a_member_that_has_not_said_hello_is_starting() {
    let silent = Path::new(env!("CARGO_BIN_EXE_ignores-shutdown"));
    let api = FakeApi::start(|_: &Ask| Reply::text("never asked for"));
    let world = world_over(&api).with_teammate(silent);
    let spawning = world.start(&spawn_args("bob", "headless", &[]));
    wait_for_states(&world, "demo", &[("bob", "starting")]);
    // Its place is reserved before there is a process, and this one would not leave by itself.
    world.wait_until("its process", || {
        let lines = world.processes();
        lines
            .iter()
            .any(|(_, line)| line.contains("swarm-teammate"))
    });
    world.swarm(&["kill", "--all"]);
    assert_ne!(spawning.wait().code, Some(0));
}

#[test]
fn d8_a_member_whose_key_is_refused_is_shown_as_failed_with_the_reason() {
    let (_api, world) = team_with(|_: &Ask| Reply::refusal(401));
    spawn_over(&world, "bob");
    wait_for_states(&world, "demo", &[("bob", "failed")]);
    let status = world.swarm(&["status", "--json"]).json();
    let told = status["members"][1].to_string();
    let shown = world.swarm(&["status"]).stdout;
    let shown = shown.lines().find(|line| line.contains("bob")).unwrap();
    let reason = "rejected the credentials";
    for text in [told.as_str(), shown] {
        assert!(text.contains("failed") && text.contains(reason), "{text}");
    }
    world.swarm(&["kill", "--all"]).ok();
}

/// Maximum time until a death is shown here. The aim is a tenth of a second on a quiet machine.
const SHOWN: Duration = Duration::from_millis(750);

/// Starts a process that takes over the life lock of a member, which is killed. The process has no other file of the team
/// open, so that its own death changes no file.
fn hold_life_of(world: &World, name: &str) -> Running {
    let life = world.team("demo").member_directory(name).join("life");
    let life = life.display().to_string();
    let holder = world.start_program("flock", &["--no-fork", "-x", &life, "sleep", "1000"]);
    kill_member(world, name);
    let comm = format!("/proc/{}/comm", holder.pid());
    world.wait_for("the life lock is taken over", || {
        let program = fs::read_to_string(&comm).ok()?;
        (program.trim_end() == "sleep").then_some(())
    });
    holder
}

#[test]
fn d8_a_watched_status_shows_a_death_by_the_life_lock_alone() {
    let (_api, world) = world_saying("here");
    let names = ["ann", "bob", "eve"];
    for name in names {
        spawn_over(&world, name);
    }
    for name in names {
        wait_for_state(&world, name, "idle");
    }
    let holders = names.map(|name| (name, hold_life_of(&world, name)));
    // A new command for each death: what it writes about one must not wake it for the next one, and its first sweep is two
    // seconds away.
    let times = holders.map(|(name, holder)| {
        let watching = world.start(&["status", "--watch"]);
        let shows = |state: &str| {
            let shown = watching.stdout();
            let mut lines = shown.lines().rev().filter(|line| line.contains(name));
            lines.next().is_some_and(|line| line.contains(state))
        };
        world.wait_until("it is shown", || shows("idle"));
        let began = Instant::now();
        holder.signal(Signal::KILL);
        world.wait_until("its death is shown", || shows("dead"));
        let took = began.elapsed();
        holder.wait();
        // A shell starts background programs, and so a test run, with SIGINT ignored.
        watching.signal(Signal::TERM);
        watching.wait();
        took
    });
    // One may be late on a machine with other work.
    let late = times.iter().filter(|time| **time > SHOWN).count();
    assert!(late <= 1, "{times:?}");
    world.swarm(&["kill", "--all"]).ok();
}
