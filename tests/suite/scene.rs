//! Worlds with the real programs, and common set-up.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Block, Brain, FakeApi, Gate, Reply, Script, Step};
use swarm_tests::stage::{Finished, InsideTmux, World};
pub(crate) use swarm_tests::stage::{MODEL, run_args, spawn_args};

/// A world with `swarm` and `swarm-teammate` as they were built for this test.
pub(crate) fn world() -> World {
    World::new(
        Path::new(env!("CARGO_BIN_EXE_swarm-under-test")),
        Path::new(env!("CARGO_TARGET_TMPDIR")),
    )
}

/// A world with a team that was created by a command.
pub(crate) fn world_with_team(name: &str) -> World {
    let world = world();
    world.swarm(&["team", "create", name]).ok();
    world
}

/// Enters members of another program into a roster, as Claude Code would: nothing of ours is on them.
pub(crate) fn enter_foreign(world: &World, team: &str, names: &[&str]) {
    let path = world.team(team).directory().join("config.json");
    let mut config = world.team(team).config();
    let members = config["members"].as_array_mut().expect("a roster");
    for name in names {
        members.push(json!({
            "agentId": format!("{name}@{team}"), "name": name, "color": "blue", "joinedAt": 1_795_195_646_590_u64,
            "tmuxPaneId": "%7", "subscriptions": [], "cwd": "/", "backendType": "tmux", "isActive": true,
            "ofAnotherProgram": [1, {"kept": true}],
        }));
    }
    std::fs::write(path, config.to_string()).expect("the roster");
}

/// A world with a team that has members of another program.
pub(crate) fn world_with_foreign(team: &str, names: &[&str]) -> World {
    let world = world_with_team(team);
    enter_foreign(&world, team, names);
    world
}

/// Completes task 1 with a result.
pub(crate) fn complete_first_task(world: &World, result: &str) {
    let fixed = ["task", "update", "1", "--status", "completed"];
    world
        .swarm(&[&fixed[..], &["--result", result]].concat())
        .ok();
}

/// Runs a script in bash, and gives its trimmed stdout.
pub(crate) fn run_bash(world: &World, script: &str) -> String {
    let ran = world
        .command("bash")
        .args(["--norc", "-c", script])
        .output()
        .expect("bash");
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

/// The values of a key in a list of records.
pub(crate) fn column(list: &Value, key: &str) -> Vec<String> {
    let rows = list.as_array().into_iter().flatten();
    rows.map(|row| match &row[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
    .collect()
}

/// A world with the team `demo`, whose models are answered by the fake server.
pub(crate) fn world_over(api: &FakeApi) -> World {
    let world = world().with_api(api);
    world.swarm(&["team", "create", "demo"]).ok();
    world
}

/// A world whose models are answered by the fake server with this brain.
pub(crate) fn world_with(brain: impl Brain + 'static) -> (FakeApi, World) {
    let api = FakeApi::start(brain);
    let world = world().with_api(&api);
    (api, world)
}

/// The same with the team `demo`.
pub(crate) fn team_with(brain: impl Brain + 'static) -> (FakeApi, World) {
    let api = FakeApi::start(brain);
    let world = world_over(&api);
    (api, world)
}

/// The same, and every request is answered with this text.
pub(crate) fn world_saying(text: &'static str) -> (FakeApi, World) {
    team_with(move |_: &Ask| Reply::text(text))
}

/// The same with an idle member.
pub(crate) fn idle_world(text: &'static str, name: &str) -> (FakeApi, World) {
    let (api, world) = world_saying(text);
    spawn_idle(&world, name);
    (api, world)
}

/// The arguments of a headless `swarm run` of the team `demo` in which no call needs permission.
pub(crate) fn demo_run_args<'a>(prompt: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["--team", "demo", "--mode", "bypassPermissions"];
    run_args(prompt, &[&fixed, more].concat())
}

/// Spawns a headless member in mode `bypassPermissions`.
pub(crate) fn spawn_over(world: &World, name: &str) {
    let more = ["--mode", "bypassPermissions", "--prompt", "hello"];
    spawn_with(world, name, &more);
}

/// Spawns a headless member in mode `bypassPermissions` and waits until its first turn has ended.
pub(crate) fn spawn_idle(world: &World, name: &str) {
    spawn_over(world, name);
    wait_for_state(world, name, "idle");
}

/// Spawns a headless member with further arguments.
pub(crate) fn spawn_with(world: &World, name: &str, more: &[&str]) {
    world.swarm(&spawn_args(name, "headless", more)).ok();
}

/// Runs `swarm spawn` in the user's tmux pane.
pub(crate) fn spawn_in_pane(
    world: &World,
    inside: &InsideTmux,
    name: &str,
    more: &[&str],
) -> Finished {
    let arguments = spawn_args(name, "tmux", more);
    world.start_with(&arguments, inside.variables()).wait()
}

/// A call of the `Agent` tool that spawns a teammate; the call's id is the name.
pub(crate) fn spawns(name: &str) -> Reply {
    let input = json!({"name": name, "description": "work", "prompt": "hello"});
    Reply::tool(name, "Agent", input)
}

/// A model that runs one shell command in its first turn, with the call id `t1`, and then ends the turn.
pub(crate) fn runs_once(command: &str) -> FakeApi {
    calls_once("Bash", json!({"command": command}))
}

/// A model that makes one call in its first turn, with the id `t1`, and then ends the turn.
pub(crate) fn calls_once(tool: &str, input: Value) -> FakeApi {
    let call = Reply::tool("t1", tool, input);
    FakeApi::start(move |ask: &Ask| match ask.result_of("t1") {
        None => call.clone(),
        Some(_) => Reply::text("done"),
    })
}

/// A lead that spawns two teammates in its first turn: bob, whose answer is held by the gate, and eve, who answers.
pub(crate) fn busy_bob_and_idle_eve(gate: &Gate) -> Script {
    let agents = [("a", "bob"), ("b", "eve")].map(|(id, name)| {
        let input = json!({"name": name, "description": "work", "prompt": "work for long"});
        Block::tool(id, "Agent", input)
    });
    let lead = [
        Step::says(Reply::blocks(agents)),
        Step::says(Reply::text("both work")),
    ];
    let bob = Step::says(Reply::text("at last").held_by(gate, 1));
    let eve = Step::says(Reply::text("I am done"));
    Script::new()
        .agent("team-lead", lead)
        .agent("bob", [bob])
        .agent("eve", [eve])
}

/// Waits until a member of `demo` reports a state. A member counts as idle only without unread mail: `working` is written
/// after its request is sent, and before its mail is marked as read.
pub(crate) fn wait_for_state(world: &World, name: &str, state: &str) {
    let team = world.team("demo");
    world.wait_until(&format!("{name} is {state}"), || {
        let waits = state == "idle" && team.has_unread(name);
        !waits && team.state(name)["state"] == state
    });
}

/// Waits until the first turn of a member of `demo` is over in every file: its state, the journal and the lead's inbox.
pub(crate) fn wait_for_first_turn(world: &World, name: &str) {
    wait_for_state(world, name, "idle");
    let team = world.team("demo");
    world.wait_until(&format!("the turn of {name} is recorded"), || {
        let notices = team.frames("team-lead", "idle_notification");
        team.events("turn_ended").len() == 1 && notices.len() == 1
    });
}

/// Waits until a file of the project directory exists.
pub(crate) fn wait_for_file(world: &World, name: &str) {
    let path = world.project().join(name);
    world.wait_until(&format!("the file {name} exists"), || path.exists());
}

/// Waits until no process of the world is left.
pub(crate) fn wait_for_no_process(world: &World) {
    world.wait_until("no process is left", || world.processes().is_empty());
}

/// Kills a member of `demo` and waits until it is gone.
pub(crate) fn kill_member(world: &World, name: &str) {
    kill_process_of(world, "demo", name);
}

/// Kills a member of any team and waits until it is gone.
pub(crate) fn kill_process_of(world: &World, team: &str, name: &str) {
    let pid = signal_member(world, team, name, Signal::KILL);
    wait_until_gone(world, pid);
}

/// Waits until a terminated process is gone and its locks are released.
pub(crate) fn wait_until_gone(world: &World, pid: Pid) {
    world.wait_until("it is gone", || {
        let process = std::path::PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
        let status = std::fs::read_to_string(process.join("stat")).ok();
        // A process whose first thread is a zombie holds its locks until its last thread has ended.
        let threads = std::fs::read_dir(process.join("task")).map_or(0, Iterator::count);
        status.is_none_or(|status| status.contains(") Z ") && threads <= 1)
    });
}

/// Sends a signal to the process of a member.
pub(crate) fn signal_member(world: &World, team: &str, name: &str, signal: Signal) -> Pid {
    let pid = world.team(team).hello(name)["pid"].as_i64().expect("a pid");
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    kill_process(pid, signal).expect("a living member");
    pid
}

/// Says so where nothing can be proven, since a test that passes in silence would look like a proof.
#[expect(
    clippy::print_stderr,
    reason = "the developer must see that the test was skipped"
)]
pub(crate) fn not_proven(why: &str) {
    eprintln!("NOT PROVEN HERE: {why}");
}
