//! Control frames: JSON objects that travel as the text of an inbox entry.
//!
//! A text is a control frame only where it may be one. What swarm writes is marked `kind: control`; a foreign entry
//! counts only when type and sender fit, so that a report that quotes a frame arrives as text.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{InboxEntry, IsoTime, LEAD_NAME, PaneId, RequestId};

/// A frame that the program handles itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ControlFrame {
    /// Asks a member to stop.
    ShutdownRequest(ShutdownRequest),
    /// The member stops.
    ShutdownApproved(ShutdownApproved),
    /// The member refuses to stop.
    ShutdownRejected(ShutdownRejected),
    /// The member has finished a turn and waits.
    IdleNotification(IdleNotification),
    /// A task has a new owner.
    TaskAssignment(TaskAssignment),
    /// A member asks whether it may make a call.
    PermissionRequest(PermissionRequestFrame),
    /// The answer.
    PermissionResponse(PermissionResponse),
}

/// `shutdown_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownRequest {
    /// `shutdown-<ms>@<name>`.
    pub request_id: RequestId,
    /// Who asks.
    pub from: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When.
    pub timestamp: IsoTime,
}

/// `shutdown_approved`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownApproved {
    /// The request that is answered.
    pub request_id: RequestId,
    /// Who stops.
    pub from: String,
    /// When.
    pub timestamp: IsoTime,
    /// The pane that becomes free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane_id: Option<PaneId>,
    /// How the member ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_type: Option<String>,
}

/// `shutdown_rejected`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownRejected {
    /// The request that is answered.
    pub request_id: RequestId,
    /// Who goes on.
    pub from: String,
    /// Why.
    pub reason: String,
    /// When.
    pub timestamp: IsoTime,
}

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
}

/// `task_assignment`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskAssignment {
    /// The task.
    pub task_id: String,
    /// Its title.
    pub subject: String,
    /// What is to be done.
    pub description: String,
    /// Who assigned it.
    pub assigned_by: String,
    /// When.
    pub timestamp: IsoTime,
}

/// `permission_request`; snake case on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequestFrame {
    /// `perm-<ms>-<7 base36>`.
    pub request_id: RequestId,
    /// The member's **name**.
    pub agent_id: String,
    /// The tool.
    pub tool_name: String,
    /// Id of the call in the model's message.
    pub tool_use_id: String,
    /// What the call does.
    pub description: String,
    /// The exact input.
    pub input: Value,
    /// Rules or modes that would answer this and similar calls.
    #[serde(default)]
    pub permission_suggestions: Vec<Value>,
}

/// `permission_response`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionResponse {
    /// The request that is answered.
    pub request_id: RequestId,
    /// The answer, named by `subtype`.
    #[serde(flatten)]
    pub result: PermissionResult,
    /// Id of the call in the model's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The exact call that the answer is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_request: Option<ApprovedRequest>,
}

/// The two answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum PermissionResult {
    /// Allowed, possibly with another input or with rules.
    Success {
        /// `updated_input` and `permission_updates`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<Value>,
    },
    /// Not allowed.
    Error {
        /// What the model is told.
        #[serde(default)]
        error: String,
    },
}

/// The call an approval is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedRequest {
    /// Id of the call in the model's message.
    pub tool_use_id: String,
    /// The tool.
    pub tool_name: String,
    /// [`crate::input_digest`] of tool and input.
    pub input_digest: String,
}

impl ControlFrame {
    /// The frame as the compact JSON that travels.
    pub fn to_text(&self) -> String {
        // Serializing plain strings, options and JSON values cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a text as a frame, whoever wrote it. `None` when it is none, or of a type that passes as text.
    pub fn from_text(text: &str) -> Option<Self> {
        if !text.trim_start().starts_with('{') {
            return None;
        }
        serde_json::from_str(text).ok()
    }

    /// The frame in an entry, when the entry may carry it: marked by swarm, or an unmarked foreign entry whose
    /// sender may send that type (only the lead asks, answers and assigns; a member speaks for itself).
    pub fn of_entry(entry: &InboxEntry) -> Option<Self> {
        if entry.swarm.is_some() && !entry.is_marked_control() {
            return None;
        }
        let frame = Self::from_text(&entry.text)?;
        frame.may_come_from(&entry.from).then_some(frame)
    }

    fn may_come_from(&self, sender: &str) -> bool {
        match self {
            ControlFrame::ShutdownRequest(frame) => sender == LEAD_NAME && frame.from == sender,
            ControlFrame::PermissionResponse(_) => sender == LEAD_NAME,
            ControlFrame::TaskAssignment(frame) => frame.assigned_by == sender,
            ControlFrame::ShutdownApproved(frame) => frame.from == sender,
            ControlFrame::ShutdownRejected(frame) => frame.from == sender,
            ControlFrame::IdleNotification(frame) => frame.from == sender,
            ControlFrame::PermissionRequest(frame) => frame.agent_id == sender,
        }
    }
}
