//! Worlds with the real programs, and what tests often put into them.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use swarm_tests::fake_api::FakeApi;
use swarm_tests::stage::World;

/// A world with `swarm` and `swarm-teammate` as they were built for this test.
pub(crate) fn world() -> World {
    World::new(
        Path::new(env!("CARGO_BIN_EXE_swarm-under-test")),
        Path::new(env!("CARGO_TARGET_TMPDIR")),
    )
}

/// A world with a team that was made by hand.
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

/// The `name`s, `id`s or whatever a list of records has under a key.
pub(crate) fn column(list: &Value, key: &str) -> Vec<String> {
    let rows = list.as_array().into_iter().flatten();
    rows.map(|row| match &row[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
    .collect()
}

/// A model whose answers come from the fake server.
pub(crate) const MODEL: &str = "anthropic/claude-sonnet-4-6";

/// A world with the team `demo`, whose models are played by a server.
pub(crate) fn world_over(api: &FakeApi) -> World {
    let world = world().with_api(api);
    world.swarm(&["team", "create", "demo"]).ok();
    world
}

/// Spawns a member without a terminal, which may do everything.
pub(crate) fn spawn_over(world: &World, name: &str) {
    let more = ["--mode", "bypassPermissions", "--prompt", "hello"];
    spawn_with(world, name, &more);
}

/// Spawns a member without a terminal, with further arguments.
pub(crate) fn spawn_with(world: &World, name: &str, more: &[&str]) {
    let arguments = ["spawn", name, "--model", MODEL, "--backend", "headless"];
    world.swarm(&[&arguments[..], more].concat()).ok();
}

/// Waits until a member of `demo` says that it is in a state. It is idle only when it has no unread mail: that it works is
/// written when its request is out, and before its mail counts as read.
pub(crate) fn wait_for_state(world: &World, name: &str, state: &str) {
    let team = world.team("demo");
    world.wait_for(&format!("{name} is {state}"), || {
        let waits = state == "idle" && team.has_unread(name);
        (!waits && team.state(name)["state"] == state).then_some(())
    });
}

/// Kills a member of `demo` as an accident would, and waits until it is gone.
pub(crate) fn kill_member(world: &World, name: &str) {
    kill_process_of(world, "demo", name);
}

/// Kills a member of any team as an accident would, and waits until it is gone.
pub(crate) fn kill_process_of(world: &World, team: &str, name: &str) {
    let pid = signal_member(world, team, name, Signal::KILL);
    wait_until_gone(world, pid);
}

/// Waits until the kernel is done with a process that was ended, and has let go of its locks.
pub(crate) fn wait_until_gone(world: &World, pid: Pid) {
    world.wait_for("it is gone", || {
        let process = std::path::PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
        let status = std::fs::read_to_string(process.join("stat")).ok();
        // A process whose first thread is a zombie holds its locks until the last of the others has ended.
        let threads = std::fs::read_dir(process.join("task")).map_or(0, Iterator::count);
        status
            .is_none_or(|status| status.contains(") Z ") && threads <= 1)
            .then_some(())
    });
}

/// Sends a signal to the process of a member, behind everybody's back.
pub(crate) fn signal_member(world: &World, team: &str, name: &str, signal: Signal) -> Pid {
    let pid = world.team(team).hello(name)["pid"].as_i64().expect("a pid");
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    kill_process(pid, signal).expect("a living member");
    pid
}
