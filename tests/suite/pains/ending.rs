//! Members and teams that resist being stopped, and what they would leave behind.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Reply};
use swarm_tests::faults::others::refresh;
use swarm_tests::stage::{InsideTmux, World};

use crate::scene::{
    demo_run_args, idle_world, kill_member, run_args, signal_member, spawn_args, spawn_idle,
    spawn_over, team_with, wait_for_no_process, wait_for_state, world_over, world_saying,
};

/// Members that run the shell command in a message, and are idle otherwise.
fn obedient() -> FakeApi {
    FakeApi::start(|ask: &Ask| {
        let command = ask.news().rsplit_once("run: ").map(|(_, rest)| {
            let line = rest.lines().next().unwrap_or_default();
            line.to_owned()
        });
        match command {
            Some(command) => Reply::tool("t1", "Bash", json!({"command": command})),
            None => Reply::text("done"),
        }
    })
}

/// Lets a member run a command and waits until it has created the file `made`.
fn has_run(world: &World, name: &str, command: &str, made: &str) {
    world
        .swarm(&["send", name, &format!("run: {command}")])
        .ok();
    world.wait_until(made, || world.project().join(made).exists());
}

/// A program that ignores every signal but SIGKILL, with a child in its own session.
const STUBBORN: &str = "trap '' TERM HUP INT; setsid sleep 600 & touch stuck; sleep 600; sleep 600";

#[test]
fn l2_a_team_of_frozen_crashed_and_busy_members_is_deleted_within_seconds() {
    let api = obedient();
    let world = world_over(&api);
    for name in ["frozen", "crashed", "busy"] {
        spawn_idle(&world, name);
    }
    has_run(&world, "busy", STUBBORN, "stuck");
    signal_member(&world, "demo", "frozen", Signal::STOP);
    kill_member(&world, "crashed");
    let refused = world.swarm(&["team", "delete", "demo", "--json"]).error(4);
    let told = refused["message"].as_str().unwrap();
    assert!(
        told.contains("busy is running (working)") && told.contains("frozen is running"),
        "{told}"
    );
    assert!(!told.contains("crashed"), "{told}");
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
    assert_eq!(world.processes(), []);
    assert!(!world.team("demo").directory().exists());
    assert!(!world.team("demo").tasks_directory().exists());
}

#[test]
fn l3_a_deleted_team_leaves_no_process_pane_or_directory() {
    let (_api, world) = world_saying("here");
    let inside = InsideTmux::start(&world, 200, 50);
    let panes = inside.tmux().panes().len();
    let arguments = spawn_args("bob", "tmux", &["--prompt", "hello"]);
    for round in 0..6 {
        world.swarm(&["team", "create", "demo"]);
        let spawning = world.start_with(&arguments, inside.variables());
        if round % 2 == 0 {
            spawning.wait().ok();
            if round == 4 {
                // The pane of one that was killed stays to be read, until its team goes.
                kill_member(&world, "bob");
                assert_eq!(inside.tmux().panes().len(), panes + 1);
            }
        } else {
            // During its start.
            world.wait_for("its place is held", || world.team("demo").member("bob"));
        }
        world
            .swarm(&["team", "delete", "demo", "--force", "--purge"])
            .ok();
        assert!(!world.team("demo").directory().exists(), "round {round}");
        world.wait_until("panes are as before", || {
            inside.tmux().panes().len() == panes
        });
        world.wait_until("no process is left", || {
            let mut left = world.processes();
            left.retain(|(_, command)| command.contains("swarm-teammate"));
            left.is_empty()
        });
    }
}

#[test]
fn l3_a_team_with_a_damaged_roster_is_deleted_when_forced() {
    let (_api, world) = world_saying("here");
    let inside = InsideTmux::start(&world, 200, 50);
    spawn_over(&world, "bob");
    // Panes in the user's tmux and on a server of swarm's own.
    let spawning = |name| spawn_args(name, "tmux", &[]);
    world
        .start_with(&spawning("eve"), inside.variables())
        .wait()
        .ok();
    world.swarm(&spawning("zoe")).ok();
    // A dead member keeps a pane for reading, not a process.
    kill_member(&world, "zoe");
    let roster = world.team("demo").directory().join("config.json");
    // A member that reports idle at this moment rewrites the whole file.
    world.wait_until("the damage to stay", || {
        std::fs::write(&roster, "{ not a roster").unwrap();
        let refused = world.swarm(&["team", "delete", "demo"]);
        refused.code == Some(8)
    });
    world
        .swarm(&["team", "delete", "demo", "--force"])
        .ok()
        .stderr_lacks("pane");
    assert_eq!(
        inside.tmux().panes().len(),
        1,
        "{}",
        inside.tmux().picture()
    );
    for server in world.own_servers() {
        assert_eq!(server.panes(), [], "{}", server.picture());
    }
    assert!(!world.team("demo").directory().exists());
    inside.tmux().end();
    wait_for_no_process(&world);
}

#[test]
fn l3_a_team_whose_roster_was_moved_away_is_deleted_when_forced() {
    let (_api, world) = idle_world("here", "bob");
    let directory = world.team("demo").directory();
    std::fs::rename(directory.join("config.json"), directory.join("config.bad")).unwrap();
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
    assert!(!directory.exists());
    wait_for_no_process(&world);
    world
        .swarm(&["team", "delete", "demo", "--force"])
        .assert_code(3);
}

#[test]
fn a_shutdown_that_takes_its_time_says_whom_it_waits_for() {
    let (gate, held) = Gate::pair();
    let (_api, world) = team_with(move |_: &Ask| Reply::text("done").held_by(&held, 1));
    spawn_over(&world, "bob");
    wait_for_state(&world, "bob", "working");
    let ending = world.start(&["shutdown", "bob"]);
    world.wait_until("it says whom it waits for", || {
        let said = ending.stderr();
        said.contains("waiting for bob (working) to stop; members still running after ")
    });
    gate.open();
    let ended = ending.wait();
    assert_eq!(ended.ok().stdout, "bob has shut down\n");
}

#[test]
fn l5_a_stuck_member_is_killed_with_its_tree_by_any_of_its_names() {
    let api = obedient();
    let world = world_over(&api);
    // A member that could clean up after itself, and one that cannot.
    for (name, frozen) in [("bob", false), ("bob@demo", true)] {
        spawn_idle(&world, "bob");
        drop(std::fs::remove_file(world.project().join("stuck")));
        has_run(&world, "bob", STUBBORN, "stuck");
        if frozen {
            signal_member(&world, "demo", "bob", Signal::STOP);
        }
        world.swarm(&["kill", name]).ok();
        assert_eq!(world.processes(), []);
        assert_eq!(world.team("demo").names(), ["team-lead"]);
    }
}

#[test]
fn l13_the_port_of_a_server_that_a_member_left_is_free_after_its_stop_and_after_its_death() {
    let api = obedient();
    let world = world_over(&api);
    // Without a sandbox, which would end with the member.
    world.write("root/swarm.toml", "[sandbox]\nbash = \"off\"\n");
    let leaves_one = format!(
        "{} >port 2>/dev/null </dev/null &",
        env!("CARGO_BIN_EXE_serves")
    );
    let told = world.project().join("port");
    // A server that does not belong to the team.
    let neighbour = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for ending in ["shutdown", "death"] {
        spawn_idle(&world, "bob");
        drop(std::fs::remove_file(&told));
        has_run(&world, "bob", &leaves_one, "port");
        wait_for_state(&world, "bob", "idle");
        let port: u16 = world.wait_for("the port", || {
            let told = std::fs::read_to_string(&told).ok()?;
            told.trim().parse().ok()
        });
        let is_served = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        assert!(is_served(), "before its {ending}");
        if ending == "shutdown" {
            world.swarm(&["shutdown", "bob"]).ok();
        } else {
            kill_member(&world, "bob");
            assert!(is_served(), "it outlives its member by itself");
            // This team has no lead; the next command that opens it cleans up.
            world.swarm(&["status"]).ok();
        }
        assert!(!is_served(), "after its {ending}: {:?}", world.processes());
        assert_eq!(world.processes(), [], "after its {ending}");
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }
    TcpStream::connect(neighbour.local_addr().unwrap()).unwrap();
}

#[test]
fn l14_a_cap_names_its_holders_and_finished_members_hold_no_place() {
    let (_api, world) = world_saying("here");
    world.write("root/swarm.toml", "[spawn]\nmax_members = 2\n");
    spawn_over(&world, "ann");
    spawn_over(&world, "bob");
    let full = spawn_args("eve", "headless", &["--json"]);
    let refused = world.swarm(&full).error(5);
    let told = refused["message"].as_str().unwrap();
    assert!(
        told.contains("2 teammates") && told.contains("has 2: ann, bob"),
        "{told}"
    );
    for _ in 0..4 {
        world.swarm(&["shutdown", "bob"]).ok();
        spawn_over(&world, "bob");
    }
    kill_member(&world, "bob");
    world.swarm(&full).ok();
    world.swarm(&["kill", "--all"]).ok();
}

#[test]
fn l14_a_wait_for_a_frozen_member_times_out() {
    let (_api, world) = idle_world("here", "bob");
    signal_member(&world, "demo", "bob", Signal::STOP);
    // It never acknowledges, so the wait ends at its deadline.
    let waited = world.swarm(&["send", "bob", "hello", "--wait", "acked", "--timeout", "1"]);
    waited.assert_code(6);
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn l14_an_interrupted_run_names_the_members_it_waits_for_and_reports_its_duration() {
    let (_gate, held) = Gate::pair();
    let api = FakeApi::start(move |ask: &Ask| {
        let is_lead = ask.agent == "team-lead";
        match (is_lead, ask.result_of("spawn")) {
            (true, None) => Reply::tool(
                "spawn",
                "Agent",
                json!({"name": "bob", "description": "work", "prompt": "work"}),
            ),
            (true, Some(_)) => Reply::text("it is out of my hands"),
            (false, _) => Reply::text("at last").held_by(&held, 1),
        }
    });
    let world = crate::scene::world().with_api(&api);
    let arguments = run_args("go", &["--team", "demo", "--output", "json"]);
    let running = world.start(&arguments);
    wait_for_state(&world, "bob", "working");
    // A member that does not read the request.
    signal_member(&world, "demo", "bob", Signal::STOP);
    running.signal(Signal::INT);
    world.wait_until("it says whom it waits for", || {
        running.stderr().contains("waiting for bob (working for")
    });
    let finished = running.wait();
    finished.assert_code(130);
    let report: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    let told = Duration::from_millis(report["duration_ms"].as_u64().unwrap());
    assert!(told >= Duration::from_secs(1), "{report}");
}

/// Most time that Ctrl-C on a run may take here: the aim is two seconds, on a machine that does nothing else. One after the
/// other, the lead's command, the hook, bob and what they leave would take more than ten.
const CUT_SHORT: Duration = Duration::from_secs(6);

#[test]
fn l14_ctrl_c_stops_a_run_in_time_though_commands_and_hooks_ignore_signals() {
    let api = FakeApi::start(|ask: &Ask| {
        let is_lead = ask.agent == "team-lead";
        if is_lead && ask.result_of("spawn").is_none() {
            let bob = json!({"name": "bob", "description": "work", "prompt": "work"});
            return Reply::tool("spawn", "Agent", bob);
        }
        let command = format!(
            "trap '' TERM HUP INT; touch {}; sleep 600; sleep 600",
            ask.agent
        );
        Reply::tool("stuck", "Bash", json!({"command": command}))
    });
    let world = crate::scene::world().with_api(&api);
    let hook = json!([{"hooks": [{"type": "command", "command": "sleep 600"}]}]);
    let settings = json!({"hooks": {"SessionEnd": hook}});
    world.write("root/settings.json", &settings.to_string());
    let arguments = demo_run_args("go", &[]);
    let running = world.start(&arguments);
    for agent in ["team-lead", "bob"] {
        let made = world.project().join(agent);
        world.wait_until("the command runs", || made.exists());
    }
    let began = Instant::now();
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    let took = began.elapsed();
    assert!(took < CUT_SHORT, "{took:?}");
    assert_eq!(world.processes(), []);
    assert_eq!(world.team("demo").names(), ["team-lead"]);
}

#[test]
fn a_member_is_stopped_at_once_although_another_program_locks_the_roster() {
    for words in [&["kill", "bob"][..], &["shutdown", "bob", "--force"]] {
        let (_api, world) = idle_world("done", "bob");
        let lock = world.team("demo").directory().join("config.json.lock");
        world.wait_for("the lock", || std::fs::create_dir(&lock).ok());
        let fresh = refresh(&lock);
        let began = Instant::now();
        let stopped = world.swarm(words);
        stopped.ok();
        stopped.stderr_has("bob has stopped, but is still in the roster");
        stopped.stderr_has("config.json.lock");
        assert_eq!(world.processes(), []);
        let status = world.swarm(&["status"]);
        status.ok();
        status.stdout_has("stopped members are not recorded yet");
        // A command that does not hurry waits for 20 s.
        assert!(began.elapsed() < Duration::from_secs(10), "it has waited");
        drop(fresh);
        std::fs::remove_dir(&lock).unwrap();
        world.swarm(&["kill", "bob"]).ok();
        assert_eq!(world.team("demo").names(), ["team-lead"]);
        assert_eq!(world.team("demo").events("member_stopped").len(), 1);
    }
}
