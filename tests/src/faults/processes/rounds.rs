//! Members, leads, panes and tmux servers that are killed or stopped at any moment, with
//! grandchildren in separate sessions: a forced delete leaves no process, no pane and no directory.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::super::dice::{Dice, Seed};
use super::super::workers::Programs;
use crate::fake_api::{Ask, FakeApi, Reply};
use crate::stage::{InsideTmux, Running, World, spawn_args};

/// Processes that members leave running, each in a separate session.
const GRANDCHILDREN: &str = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do setsid sleep 600 >/dev/null 2>&1 & done; touch left";
/// Maximum pause before the next fault.
const PAUSE: Duration = Duration::from_millis(250);

/// Fault of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A member is killed.
    KillMember,
    /// A member is stopped (SIGSTOP).
    StopMember,
    /// The spawning command is killed.
    KillSpawner,
    /// A person closes the pane.
    ClosePane,
    /// The tmux server is killed.
    KillServer,
    /// A member leaves twenty processes in other sessions, and is killed.
    Grandchildren,
    /// The deleting command is killed, and run again.
    KillDelete,
    /// The deleting command has no standard streams.
    ClosedStreams,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 8] = [
        Self::KillMember,
        Self::StopMember,
        Self::KillSpawner,
        Self::ClosePane,
        Self::KillServer,
        Self::Grandchildren,
        Self::KillDelete,
        Self::ClosedStreams,
    ];
}

/// Runs one round: spawns, injects a fault at a moment that depends on the seed, also during
/// startup, and deletes.
///
/// # Panics
/// If something is left.
pub fn round(programs: &Programs, fault: Fault, seed: Seed) {
    let mut dice = Dice::new(seed);
    let api = FakeApi::start(answer);
    let world = World::new(&programs.swarm, &programs.links).with_api(&api);
    let inside = InsideTmux::start(&world, 200, 50);
    let panes = inside.tmux().panes().len();
    world.swarm(&["team", "create", "demo"]).ok();
    let in_tmux = fault == Fault::ClosePane || fault == Fault::KillServer || dice.below(2) == 0;
    let spawning: Vec<Running> = ["ann", "bob"]
        .iter()
        .map(|name| spawn(&world, &inside, name, in_tmux))
        .collect();
    // Some faults occur during startup, and some afterwards.
    let mut spawning = spawning;
    let at_start =
        fault == Fault::KillSpawner || (fault != Fault::Grandchildren && dice.below(2) == 0);
    if at_start {
        dice.linger(PAUSE);
    } else {
        for running in spawning.drain(..) {
            running.wait().ok();
        }
    }
    go_wrong(&world, &inside, fault, &spawning);
    dice.linger(PAUSE / 4);
    delete(&world, fault, &mut dice);
    assert!(!world.team("demo").directory().exists(), "{fault:?}");
    assert!(!world.team("demo").tasks_directory().exists(), "{fault:?}");
    world.wait_for("no process of a member is left", || {
        let mut left = world.processes();
        left.retain(|(_, command)| {
            command.contains("swarm-teammate") || command.contains("sleep 600")
        });
        left.is_empty().then_some(())
    });
    if fault != Fault::KillServer {
        world.wait_for("panes are as before", || {
            (inside.tmux().panes().len() == panes).then_some(())
        });
    }
    for running in spawning {
        // The result does not matter, but it must exit.
        running.wait();
    }
    // The name can be reused, and the new team contains nothing of the old one.
    world.swarm(&["team", "create", "demo"]).ok();
    assert_eq!(world.team("demo").names(), ["team-lead"], "{fault:?}");
    world.end_all();
}

fn answer(ask: &Ask) -> Reply {
    if ask.news().contains("leave them") {
        Reply::tool("t1", "Bash", json!({"command": GRANDCHILDREN}))
    } else {
        Reply::text("done")
    }
}

fn spawn(world: &World, inside: &InsideTmux, name: &str, in_tmux: bool) -> Running {
    let backend = if in_tmux { "tmux" } else { "headless" };
    let more = ["--mode", "bypassPermissions", "--prompt", "hello"];
    let arguments = spawn_args(name, backend, &more);
    world.start_with(&arguments, inside.variables())
}

fn go_wrong(world: &World, inside: &InsideTmux, fault: Fault, spawning: &[Running]) {
    match fault {
        Fault::KillMember => signal_member(world, Signal::KILL),
        Fault::StopMember => signal_member(world, Signal::STOP),
        Fault::KillSpawner => {
            for running in spawning {
                running.signal(Signal::KILL);
            }
        }
        Fault::ClosePane => {
            let pane = world.team("demo").member("ann");
            let pane = pane.and_then(|member| member["tmuxPaneId"].as_str().map(str::to_owned));
            if let Some(pane) = pane.filter(|pane| pane.starts_with('%')) {
                // It may be gone already.
                drop(inside.tmux().try_run(&["kill-pane", "-t", &pane]));
            }
        }
        Fault::KillServer => {
            let pid = inside.tmux().run(&["display-message", "-p", "#{pid}"]);
            signal(pid.trim().parse().expect("a pid"), Signal::KILL);
        }
        Fault::Grandchildren => {
            world.swarm(&["send", "ann", "leave them"]).ok();
            world.wait_for("they are left", || {
                world.project().join("left").exists().then_some(())
            });
            signal_member(world, Signal::KILL);
        }
        Fault::KillDelete | Fault::ClosedStreams => {}
    }
}

fn delete(world: &World, fault: Fault, dice: &mut Dice) {
    let arguments = ["team", "delete", "demo", "--force", "--purge"];
    match fault {
        Fault::KillDelete => {
            let deleting = world.start(&arguments);
            dice.linger(PAUSE);
            deleting.signal(Signal::KILL);
            deleting.wait();
            let again = world.swarm(&arguments);
            assert!(matches!(again.code, Some(0 | 3)), "{}", again.story());
            world.swarm(&["gc"]).ok();
        }
        Fault::ClosedStreams => {
            let mut command = world.command("sh");
            command
                .args(["-c", "exec \"$0\" \"$@\" <&- >&- 2>&-"])
                .arg(world.program("swarm"))
                .args(arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let status = command.status().expect("a shell");
            assert!(status.success(), "{status}");
        }
        _ => drop(world.swarm(&arguments).ok().clone()),
    }
}

/// Sends a signal to the process of ann, if it exists.
fn signal_member(world: &World, signal_is: Signal) {
    let pid = world.team("demo").hello("ann")["pid"].as_i64();
    if let Some(pid) = pid.and_then(|pid| i32::try_from(pid).ok()) {
        signal(pid, signal_is);
    }
}

fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may have exited.
        kill_process(pid, signal).ok();
    }
}
