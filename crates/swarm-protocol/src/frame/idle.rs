//! The notice of a member whose turn is over.

use serde::{Deserialize, Serialize};

use crate::{IsoTime, TaskId};

/// Why a member is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleReason {
    /// Its turn ended; it waits for mail.
    Available,
    /// A person interrupted its turn.
    Interrupted,
    /// Its turn failed.
    Failed,
}

/// `idle_notification`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdleNotification {
    /// Who is idle.
    pub from: String,
    /// Since when.
    pub timestamp: IsoTime,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_reason: Option<IdleReason>,
    /// The last text of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// `[to NAME] …` of the last message to a peer in that turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// A task that was finished in the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_task_id: Option<String>,
    /// How it ended: `resolved`, `blocked` or `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_status: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Tasks that it still has in progress although it was reminded of them; of swarm alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_tasks: Vec<TaskId>,
}
