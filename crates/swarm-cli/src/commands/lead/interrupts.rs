//! Ctrl-C, SIGTERM and the end of a lead's terminal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use swarm_agent::EventSink;
use swarm_member::StopTokens;
use swarm_protocol::{AgentEvent, ErrorKind};
use swarm_ui::PaneInput;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::terminal::LeadTerminal;
use crate::commands::EndSignals;
use crate::output::say;

/// A second Ctrl-C within this time stops an interactive lead.
const AGAIN: Duration = Duration::from_secs(2);

/// The state that signals change.
pub(super) struct Interrupts {
    pub(super) stops: StopTokens,
    /// Where the lead's work is drawn, if anywhere.
    pub(super) view: Option<Arc<dyn EventSink>>,
    pub(super) quiet: bool,
    /// Interrupts the turn, if Ctrl-C first interrupts the turn.
    pub(super) turn: Option<UnboundedSender<PaneInput>>,
    pub(super) terminal: LeadTerminal,
}

impl Interrupts {
    /// Handles stop requests. The first Ctrl-C stops the team gracefully, the second kills it, the
    /// third exits immediately. SIGTERM and Ctrl-D (`asked`) count like Ctrl-C. If the terminal
    /// closes, the lead stops and its members wait for another lead. Ctrl-C first clears the input
    /// line, and in an interactive lead interrupts the turn, where it counts only if pressed again
    /// soon.
    pub(super) async fn follow(self, mut signals: EndSignals, asked: Arc<Notify>) {
        let mut last = None;
        loop {
            tokio::select! {
                _ = signals.interrupt.recv() => if self.is_about_turn(&mut last) {
                    continue;
                },
                _ = signals.terminate.recv() => {}
                () = asked.notified() => {}
                _ = signals.hangup.recv() => {
                    // SIGHUP may arrive twice: from the kernel and from the shell.
                    if !self.stops.stop.is_cancelled() {
                        self.stops.hangup.cancel();
                        self.stops.stop.cancel();
                    }
                    continue;
                }
            }
            self.end();
        }
    }

    /// Returns whether a Ctrl-C applies to the input line or the turn instead of the session.
    fn is_about_turn(&self, last: &mut Option<Instant>) -> bool {
        if self.stops.stop.is_cancelled() {
            return false;
        }
        if self.terminal.clear() {
            return true;
        }
        let Some(turn) = &self.turn else {
            return false;
        };
        if last.is_some_and(|last| last.elapsed() < AGAIN) {
            return false;
        }
        *last = Some(Instant::now());
        // A stopped lead no longer receives.
        turn.send(PaneInput::Interrupt).ok();
        self.tell("press Ctrl-C again to end the session");
        true
    }

    fn end(&self) {
        if self.stops.kill.is_cancelled() {
            self.tell("exiting without waiting; `swarm ps` shows remaining processes, `swarm reap` terminates orphaned ones");
            self.terminal.end();
            let code = ErrorKind::Interrupted.exit_code().0;
            std::process::exit(code.into());
        }
        if self.stops.stop.is_cancelled() {
            self.tell("killing the team; press Ctrl-C again to exit immediately");
            self.stops.kill.cancel();
            return;
        }
        self.tell("stopping the team; press Ctrl-C again to kill it");
        self.stops.stop.cancel();
    }

    fn tell(&self, line: &str) {
        match &self.view {
            Some(view) => view.emit(AgentEvent::Notice {
                line: line.to_owned(),
            }),
            // The person who interrupts reads stderr, even if a program reads stdout.
            None if !self.quiet => say(&format!("swarm: {line}")),
            None => {}
        }
    }
}
