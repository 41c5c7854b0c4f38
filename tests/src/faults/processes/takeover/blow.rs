//! What ends a lead.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::super::places::{Place, Scene};
use crate::faults::dice::Dice;
use crate::stage::Running;

/// Longest pause between a signal that asks and one that does not.
const PAUSE: Duration = Duration::from_millis(300);

/// What ends a lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// SIGKILL.
    Kill,
    /// SIGKILL to its whole process group, so that what it runs at that moment (git, tmux) dies with it.
    KillGroup,
    /// SIGTERM, upon which it ends its members in order.
    Terminate,
    /// SIGTERM, and SIGKILL while it ends its members.
    TerminateAndKill,
    /// SIGHUP.
    HangUp,
    /// The pane in which it runs is closed.
    CloseTerminal,
}

impl Blow {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Kill,
        Self::KillGroup,
        Self::Terminate,
        Self::TerminateAndKill,
        Self::HangUp,
        Self::CloseTerminal,
    ];

    /// Whether the lead has no time to end anything.
    pub(super) fn is_sudden(self) -> bool {
        matches!(self, Self::Kill | Self::KillGroup)
    }

    /// Whether the lead leaves its members to another one.
    pub(super) fn leaves_members(self) -> bool {
        !matches!(self, Self::Terminate | Self::TerminateAndKill)
    }
}

/// A lead at work.
pub(super) enum Leading {
    /// As a command of its own.
    Command(Running),
    /// In a pane of the person's tmux.
    InPane { pane: String, pid: i32 },
}

impl Leading {
    /// Starts it, in a place that the blow can reach.
    pub(super) fn start(scene: &Scene, words: &[&str], place: Place, blow: Blow) -> Self {
        if blow != Blow::CloseTerminal {
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

    /// Ends it, and waits until it has ended.
    pub(super) fn end(self, scene: &Scene, blow: Blow, dice: &mut Dice) {
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

fn strike(running: Running, blow: Blow, dice: &mut Dice) {
    let pid = i32::try_from(running.pid()).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a pid");
    match blow {
        Blow::Kill => running.signal(Signal::KILL),
        Blow::KillGroup => kill_process_group(pid, Signal::KILL).expect("its own group"),
        Blow::Terminate => running.signal(Signal::TERM),
        Blow::HangUp | Blow::CloseTerminal => running.signal(Signal::HUP),
        Blow::TerminateAndKill => {
            running.signal(Signal::TERM);
            dice.linger(PAUSE);
            // Until it is waited for, its number is its own.
            kill_process(pid, Signal::KILL).expect("a child");
        }
    }
    let ended = running.wait();
    assert_ne!(ended.code, Some(0), "{blow:?}: {}", ended.story());
    assert!(!ended.stderr.contains("panicked"), "{}", ended.story());
}

pub(super) fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}
