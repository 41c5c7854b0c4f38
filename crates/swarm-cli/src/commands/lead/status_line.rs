//! The status lines above the input line of a lead's terminal, and notifications.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use swarm_agent::EventSink;
use swarm_member::SpendingMeter;
use swarm_protocol::{AgentEvent, MemberState, PermissionMode};
use swarm_ui::print::short_count;
use swarm_ui::{SessionChange, SessionStatus};
use swarm_worktree::seen;
use tokio::sync::Notify;

use super::status_command::StatusCommand;
use super::terminal::LeadTerminal;
use crate::event_tap::tapped;

/// Turns that take longer trigger a notification when they end.
pub(super) const LONG_TURN: Duration = Duration::from_secs(10);

/// Status of a session on the screen.
#[derive(Debug)]
pub(super) struct StatusLine {
    terminal: LeadTerminal,
    /// Directory whose branch is shown.
    cwd: PathBuf,
    /// Program for notifications, if configured.
    command: Vec<String>,
    spending: Arc<SpendingMeter>,
    inner: Mutex<Inner>,
    /// Notified when a turn begins.
    work: Notify,
    /// The user's own line.
    own: Option<Arc<StatusCommand>>,
}

#[derive(Debug)]
struct Inner {
    status: SessionStatus,
    team: Option<String>,
    /// What is said about requests that are not shown.
    requests: Option<String>,
}

impl StatusLine {
    pub(super) fn new(
        terminal: LeadTerminal,
        cwd: PathBuf,
        command: Vec<String>,
        spending: Arc<SpendingMeter>,
        mut status: SessionStatus,
        own: Option<StatusCommand>,
    ) -> Self {
        status.branch = branch(&cwd);
        Self {
            terminal,
            cwd,
            command,
            spending,
            inner: Mutex::new(Inner {
                status,
                team: None,
                requests: None,
            }),
            work: Notify::new(),
            own: own.map(Arc::new),
        }
    }

    fn status(&self) -> SessionStatus {
        self.inner.lock().status.clone()
    }

    pub(super) fn mode(&self) -> PermissionMode {
        self.inner.lock().status.mode
    }

    /// Returns the id of the current model.
    pub(super) fn model(&self) -> String {
        self.inner.lock().status.model.clone()
    }

    /// Returns a sink that also updates the status.
    pub(super) fn following(self: &Arc<Self>, inner: Arc<dyn EventSink>) -> Arc<dyn EventSink> {
        let status = Arc::clone(self);
        tapped(inner, move |event| {
            status.event(event);
            true
        })
    }

    /// Updates the status from an event of the lead.
    fn event(&self, event: &AgentEvent) {
        let change = self.inner.lock().status.follow(event, Instant::now());
        if let AgentEvent::Asked { from, line, .. } = event {
            self.call(&format!("{from} asks: {line}"));
        } else if change == SessionChange::None {
            return;
        }
        if let SessionChange::TurnEnded(took) = change {
            self.inner.lock().status.branch = branch(&self.cwd);
            if took >= LONG_TURN {
                self.call("the lead has finished its turn");
            }
        }
        if let AgentEvent::State {
            state: MemberState::WaitingPermission | MemberState::WaitingPlan,
            ..
        } = event
        {
            self.call("the lead needs an answer");
        }
        if matches!(event, AgentEvent::TurnStarted) {
            self.work.notify_one();
        }
        if let Some(own) = &self.own {
            own.changed();
        }
        self.draw();
    }

    pub(super) fn set_team(&self, line: Option<String>) {
        self.inner.lock().team = line;
        self.draw();
    }

    /// Shows how many of the open requests are not shown, and why.
    pub(super) fn set_requests(&self, open: usize, postponed: usize) {
        let row = requests_row(open, postponed);
        let is_known = std::mem::replace(&mut self.inner.lock().requests, row.clone()) == row;
        if !is_known {
            self.draw();
        }
    }

    /// Notifies the person.
    pub(super) fn call(&self, why: &str) {
        self.terminal.call(why);
        self.run_command(why);
    }

    /// Starts the notification program without waiting for it.
    pub(super) fn run_command(&self, why: &str) {
        let Some((program, words)) = self.command.split_first() else {
            return;
        };
        let mut command = Command::new(program);
        command.args(words).arg(why);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match command.spawn() {
            // Reaps the process so that it does not become a zombie.
            Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
            Err(error) => tracing::warn!(program, %error, "notify.command not run"),
        }
    }

    /// Returns the tokens used and the share of the context window, for `/context`.
    pub(super) fn used(&self) -> String {
        let inner = self.inner.lock();
        let status = &inner.status;
        let context = match status.context {
            Some(used) => format!("{} % of the context window is used", used.percent()),
            None => "the context usage is unknown: there is no response yet, or the model's context window is unknown".to_owned(),
        };
        let tokens = short_count(status.tokens);
        format!("{tokens} tokens used, including sub-agents and teammates\n{context}")
    }

    /// Returns the status of the session, for `/status`.
    pub(super) fn session(&self) -> String {
        self.inner.lock().status.line(Instant::now())
    }

    fn draw(&self) {
        let mut inner = self.inner.lock();
        if let Some(spent) = self.spending.known_since_start() {
            inner.status.set_spent(spent.usage.total(), spent.cost());
        }
        let mut lines = inner.status.finished_calls();
        lines.push(inner.status.line(Instant::now()));
        lines.extend(inner.team.clone());
        lines.extend(inner.requests.clone());
        drop(inner);
        lines.extend(self.own.iter().flat_map(|own| own.lines()));
        self.terminal.set_status(lines);
    }

    /// Redraws the line once a second during a turn.
    pub(super) async fn follow(self: Arc<Self>) {
        if let Some(own) = &self.own {
            let (state, drawn) = (Arc::clone(&self), Arc::clone(&self));
            let status = move || state.status();
            tokio::spawn(Arc::clone(own).follow(status, move || drawn.draw()));
        }
        loop {
            if self.inner.lock().status.is_working() {
                tokio::time::sleep(Duration::from_secs(1)).await;
                self.draw();
            } else {
                self.work.notified().await;
            }
        }
    }
}

/// Returns the row about requests besides the one that is shown.
fn requests_row(open: usize, postponed: usize) -> Option<String> {
    let further = (open - postponed).saturating_sub(1);
    let further = match further {
        0 => None,
        1 => Some("1 more request waits".to_owned()),
        many => Some(format!("{many} more requests wait")),
    };
    let postponed = match postponed {
        0 => None,
        1 => Some("1 request is postponed; Esc shows it".to_owned()),
        many => Some(format!("{many} requests are postponed; Esc shows them")),
    };
    let parts: Vec<_> = further.into_iter().chain(postponed).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn branch(cwd: &std::path::Path) -> Option<String> {
    seen(cwd)?.branch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_are_not_shown_are_counted() {
        for (open, postponed, row) in [
            (0, 0, None),
            (1, 0, None),
            (2, 0, Some("1 more request waits")),
            (1, 1, Some("1 request is postponed; Esc shows it")),
            (
                5,
                2,
                Some("2 more requests wait; 2 requests are postponed; Esc shows them"),
            ),
        ] {
            assert_eq!(
                requests_row(open, postponed).as_deref(),
                row,
                "{open} {postponed}"
            );
        }
    }
}
