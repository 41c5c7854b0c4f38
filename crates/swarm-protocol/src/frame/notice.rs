//! Frames that are not answered.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// `task_assignment`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskAssignment {
    /// Id of the task.
    pub task_id: String,
    /// Title of the task.
    pub subject: String,
    /// Description of the task.
    pub description: String,
    /// Name of the assigner.
    pub assigned_by: String,
    /// Time of the assignment.
    pub timestamp: IsoTime,
}

/// `interrupt_request`, specific to swarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterruptRequest {
    /// Name of the requester.
    pub from: String,
    /// Time of the request.
    pub timestamp: IsoTime,
}

/// `compact_request`, specific to swarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactRequest {
    /// Name of the requester.
    pub from: String,
    /// Instructions for the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Time of the request.
    pub timestamp: IsoTime,
}

/// `mode_set_request`: attempts to change a member's mode. Claude Code ignores it (by 2.1.329 at the
/// latest), as swarm does: permissions are never taken from messages. Its type is known so that it is
/// ignored deliberately instead of reaching a model as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeSetRequest {
    /// Requested mode. Unknown values are preserved.
    pub mode: String,
    /// Name of the requester.
    pub from: String,
}

/// `team_permission_update`: attempts to change a member's rules. Claude Code ignores it since
/// 2.1.236; see [`ModeSetRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamPermissionUpdate {
    /// The change, in the format of permission suggestions.
    pub permission_update: Value,
    /// Directory to which it applies.
    pub directory_path: String,
    /// Tool to which it applies.
    pub tool_name: String,
}
