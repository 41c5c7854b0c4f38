//! Notification that a member's turn is over.

use serde::{Deserialize, Serialize};

use crate::{IsoTime, TaskId};

/// Reason for which a member is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleReason {
    /// The turn ended; the member waits for messages.
    Available,
    /// A person interrupted the turn.
    Interrupted,
    /// The turn failed.
    Failed,
}

/// `idle_notification`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdleNotification {
    /// Name of the idle member.
    pub from: String,
    /// Time at which the turn ended.
    pub timestamp: IsoTime,
    /// Reason for being idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_reason: Option<IdleReason>,
    /// Final text of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// `[to NAME] …` for the last message to a peer in that turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Id of a task that was finished in the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_task_id: Option<String>,
    /// Outcome of the task: `resolved`, `blocked` or `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_status: Option<String>,
    /// Error message if the turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Tasks still in progress although the member was reminded of them; specific to swarm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_tasks: Vec<TaskId>,
}
