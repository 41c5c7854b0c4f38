//! What is asked of a stop and what came of it.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use swarm_protocol::{MemberName, TaskId};

use super::LeftWorktree;
use crate::SpawnContext;

/// How a member is to be stopped.
#[derive(Debug, Clone)]
pub struct StopOptions {
    /// What the member is told.
    pub reason: Option<String>,
    /// Who asks, as the journal names it.
    pub by: &'static str,
    /// How long it may take to end by itself.
    pub timeout: Duration,
    /// Ends it even if the agent refuses.
    pub force: bool,
    /// Ends it now: its agent is not asked and its turn is interrupted.
    pub at_once: bool,
}

impl StopOptions {
    /// Ends a member now, for this reason.
    pub fn now(reason: Option<String>, by: &'static str) -> Self {
        Self {
            reason,
            by,
            timeout: FORCED_PATIENCE,
            force: true,
            at_once: true,
        }
    }

    /// How long processes may take between SIGTERM and SIGKILL.
    pub(super) fn grace(&self, spawn_context: &SpawnContext) -> Duration {
        if self.at_once {
            spawn_context.kill_grace.min(FORCED_GRACE)
        } else {
            spawn_context.kill_grace
        }
    }
}

/// How long a member may take to end when it is stopped by force, before its processes are terminated.
pub const FORCED_PATIENCE: Duration = Duration::from_millis(1300);

/// How long its processes may then take after SIGTERM.
const FORCED_GRACE: Duration = Duration::from_millis(400);

/// How a member ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum StopOutcome {
    /// It agreed and ended by itself.
    Approved,
    /// It said nothing in time and ended at SIGTERM.
    Terminated,
    /// It had to be killed.
    Killed,
    /// It was dead already.
    AlreadyGone,
    /// The agent refused; it goes on.
    Refused {
        /// Why.
        reason: String,
    },
}

impl StopOutcome {
    /// The word for journals and lists.
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

/// A member that was to be stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StopReport {
    /// Who.
    pub member: MemberName,
    /// How it ended, or that it did not.
    #[serde(flatten)]
    pub outcome: StopOutcome,
    /// Tasks that were given back.
    pub released: Vec<TaskId>,
    /// Why its pane is still there, where that could not be closed.
    #[serde(rename = "paneLeft", skip_serializing_if = "Option::is_none")]
    pub pane_left: Option<String>,
    /// Processes that it had started and that could not be ended.
    #[serde(rename = "processesLeft", skip_serializing_if = "is_zero")]
    pub processes_left: usize,
    /// What became of its worktree, if it had one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<LeftWorktree>,
    /// The conversation of one that was dead already and had its place only to be taken up again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<PathBuf>,
}

impl StopReport {
    /// The outcome alone: nothing was left and nothing given back.
    pub(super) fn new(member: MemberName, outcome: StopOutcome) -> Self {
        Self {
            member,
            outcome,
            released: Vec::new(),
            pane_left: None,
            processes_left: 0,
            worktree: None,
            transcript: None,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
