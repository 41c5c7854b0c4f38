//! Options and result of a stop.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use swarm_protocol::{MemberName, TaskId, task_numbers};

use super::LeftWorktree;
use crate::SpawnContext;

/// Options for stopping a member.
#[derive(Debug, Clone)]
pub struct StopOptions {
    /// Reason, shown to the member.
    pub reason: Option<String>,
    /// Requester, as recorded in the journal.
    pub by: &'static str,
    /// How long it may take to stop by itself.
    pub timeout: Duration,
    /// Whether to stop it even if the agent refuses.
    pub force: bool,
    /// Whether to stop it immediately: its agent is not asked and its turn is interrupted.
    pub at_once: bool,
}

impl StopOptions {
    /// Options to stop a member immediately, for this reason.
    pub fn now(reason: Option<String>, by: &'static str) -> Self {
        Self {
            reason,
            by,
            timeout: FORCED_PATIENCE,
            force: true,
            at_once: true,
        }
    }

    /// Returns the time between SIGTERM and SIGKILL.
    pub(super) fn grace(&self, spawn_context: &SpawnContext) -> Duration {
        if self.at_once {
            spawn_context.kill_grace.min(FORCED_GRACE)
        } else {
            spawn_context.kill_grace
        }
    }
}

/// How long a member may take to stop by itself when it is stopped immediately. The help of `shutdown`
/// names it.
pub const FORCED_PATIENCE: Duration = Duration::from_millis(1300);

/// Time between SIGTERM and SIGKILL in that case.
const FORCED_GRACE: Duration = Duration::from_millis(400);

/// How a member stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum StopOutcome {
    /// Approved the request and exited.
    Approved,
    /// Did not respond in time and exited on SIGTERM.
    Terminated,
    /// Was killed.
    Killed,
    /// Was already dead.
    AlreadyGone,
    /// The agent refused; the member keeps running.
    Refused {
        /// Reason.
        reason: String,
    },
}

impl StopOutcome {
    /// Returns the name for journals and lists.
    pub fn word(&self) -> &'static str {
        match self {
            StopOutcome::Approved => "approved",
            StopOutcome::Terminated => "terminated",
            StopOutcome::Killed => "killed",
            StopOutcome::AlreadyGone => "already_gone",
            StopOutcome::Refused { .. } => "refused",
        }
    }
}

/// Result for a member that was to be stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StopReport {
    /// The member.
    pub member: MemberName,
    /// How it stopped, or that it did not.
    #[serde(flatten)]
    pub outcome: StopOutcome,
    /// Released tasks.
    pub released: Vec<TaskId>,
    /// Why its pane could not be closed.
    #[serde(rename = "paneLeft", skip_serializing_if = "Option::is_none")]
    pub pane_left: Option<String>,
    /// Number of child processes that could not be terminated.
    #[serde(rename = "processesLeft", skip_serializing_if = "is_zero")]
    pub processes_left: usize,
    /// What happened to its separate worktree, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<LeftWorktree>,
    /// Conversation of a member that was already dead and can be restarted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<PathBuf>,
    /// Where its process has parked, on another machine: it ends when it learns that it was removed.
    #[serde(rename = "parkedOn", skip_serializing_if = "Option::is_none")]
    pub parked_on: Option<String>,
    /// Where the process of a member ran that counts as dead, on another machine. It may be running
    /// without contact with the hub, and ends when it reaches the hub again.
    #[serde(rename = "lostOn", skip_serializing_if = "Option::is_none")]
    pub lost_on: Option<String>,
}

impl StopReport {
    /// Creates a result without remaining resources or released tasks.
    pub(super) fn new(member: MemberName, outcome: StopOutcome) -> Self {
        Self {
            member,
            outcome,
            released: Vec::new(),
            pane_left: None,
            processes_left: 0,
            worktree: None,
            transcript: None,
            parked_on: None,
            lost_on: None,
        }
    }

    /// Describes in one line how the member stopped.
    pub fn sentence(&self) -> String {
        let how = match (&self.outcome, &self.parked_on, &self.lost_on) {
            (_, Some(place), _) => format!("is parked on {place}; it ends there"),
            (_, None, Some(place)) => format!(
                "counts as dead; if it still runs on {place}, it ends when it reaches the hub again"
            ),
            (StopOutcome::Approved, None, None) => "has shut down".to_owned(),
            (StopOutcome::Terminated, None, None) => {
                "did not respond in time and was terminated".to_owned()
            }
            (StopOutcome::Killed, None, None) => "was killed".to_owned(),
            (StopOutcome::AlreadyGone, None, None) => "had already stopped".to_owned(),
            (StopOutcome::Refused { .. }, None, None) => "keeps running".to_owned(),
        };
        if self.released.is_empty() {
            return format!("{} {how}", self.member);
        }
        let released = task_numbers(&self.released);
        format!("{} {how}; released tasks: {released}", self.member)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_parked_or_was_lost_elsewhere_has_not_stopped() {
        let name = MemberName::parse("bob").unwrap();
        let mut report = StopReport::new(name, StopOutcome::AlreadyGone);
        assert_eq!(report.sentence(), "bob had already stopped");
        report.parked_on = Some("vm with another config directory".to_owned());
        assert_eq!(
            report.sentence(),
            "bob is parked on vm with another config directory; it ends there"
        );
        report.parked_on = None;
        report.lost_on = Some("vm".to_owned());
        assert_eq!(
            report.sentence(),
            "bob counts as dead; if it still runs on vm, it ends when it reaches the hub again"
        );
    }
}
