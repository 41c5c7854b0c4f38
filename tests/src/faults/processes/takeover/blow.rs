//! Ways to terminate a lead.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::super::places::{Place, Scene};
use crate::faults::dice::Dice;
use crate::stage::Running;

/// Maximum pause between SIGTERM and SIGKILL.
const PAUSE: Duration = Duration::from_millis(300);

/// Ways to terminate a lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Termination {
    /// SIGKILL.
    Kill,
    /// SIGKILL to its whole process group, including its current child processes (git, tmux).
    KillGroup,
    /// SIGTERM, which makes it shut down its members gracefully.
    Terminate,
    /// SIGTERM, and SIGKILL while it shuts down its members.
    TerminateAndKill,
    /// SIGHUP.
    HangUp,
    /// Its pane is closed.
    CloseTerminal,
}

impl Termination {
    /// All ways.
    pub const ALL: [Self; 6] = [
        Self::Kill,
        Self::KillGroup,
        Self::Terminate,
        Self::TerminateAndKill,
        Self::HangUp,
        Self::CloseTerminal,
    ];

    /// Returns whether the lead cannot stop anything.
    pub(super) fn is_sudden(self) -> bool {
        matches!(self, Self::Kill | Self::KillGroup)
    }

    /// Returns whether the members survive the lead.
    pub(super) fn leaves_members(self) -> bool {
        !matches!(self, Self::Terminate | Self::TerminateAndKill)
    }
}

/// A running lead.
pub(super) enum Leading {
    /// As a command.
    Command(Running),
    /// In a pane of the person's tmux.
    InPane { pane: String, pid: i32 },
}

impl Leading {
    /// Starts it on a backend that the signal can reach.
    pub(super) fn start(scene: &Scene, words: &[&str], place: Place, blow: Termination) -> Self {
        if blow != Termination::CloseTerminal {
            let variables = scene.variables(place);
            return Self::Command(scene.world.start_with(words, variables));
        }
        let address = format!("ANTHROPIC_BASE_URL={}", scene.api.base_url());
        let project = scene.world.project();
        let (project, program) = (text(&project), scene.world.program("swarm"));
        let new_window = ["new-window", "-d", "-P", "-F", "#{pane_id} #{pane_pid}"];
        let key = "ANTHROPIC_API_KEY=sk-test-not-a-key";
        let how = [
            "-e",
            &address,
            "-e",
            key,
            "-c",
            project,
            "--",
            text(&program),
        ];
        let made = [&new_window[..], &how, words].concat();
        let made = scene.inside.tmux().run(&made);
        let (pane, pid) = made.split_once(' ').expect("a pane and a pid");
        Self::InPane {
            pane: pane.to_owned(),
            pid: pid.parse().expect("a pid"),
        }
    }

    /// Terminates it and waits for its exit.
    pub(super) fn end(self, scene: &Scene, blow: Termination, dice: &mut Dice) {
        match self {
            Self::Command(running) => strike(running, blow, dice),
            Self::InPane { pane, pid } => {
                scene.inside.tmux().run(&["kill-pane", "-t", &pane]);
                scene.world.wait_for("the lead in the pane has ended", || {
                    let mut living = scene.world.processes().into_iter();
                    living.all(|(living, _)| living != pid).then_some(())
                });
            }
        }
    }
}

fn strike(running: Running, blow: Termination, dice: &mut Dice) {
    let pid = i32::try_from(running.pid()).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a pid");
    match blow {
        Termination::Kill => running.signal(Signal::KILL),
        Termination::KillGroup => kill_process_group(pid, Signal::KILL).expect("its own group"),
        Termination::Terminate => running.signal(Signal::TERM),
        Termination::HangUp | Termination::CloseTerminal => running.signal(Signal::HUP),
        Termination::TerminateAndKill => {
            running.signal(Signal::TERM);
            dice.linger(PAUSE);
            // Its pid cannot be reused before it is reaped.
            kill_process(pid, Signal::KILL).expect("a child");
        }
    }
    let ended = running.wait();
    assert_ne!(ended.code, Some(0), "{blow:?}: {}", ended.story());
    ended.stderr_lacks("panicked");
}

pub(super) fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}
