//! Recognizes control frames and their types.

use serde::{Deserialize, Serialize};

use crate::surrogate::parse_repaired;
use crate::{InboxEntry, LEAD_NAME, RequestId};

use super::{
    CompactRequest, IdleNotification, InterruptRequest, ModeSetRequest, PermissionRequestFrame,
    PermissionResponse, PlanApprovalRequest, PlanApprovalResponse, SandboxPermissionRequest,
    SandboxPermissionResponse, ShutdownApproved, ShutdownRejected, ShutdownRequest, TaskAssignment,
    TeamPermissionUpdate,
};

/// A frame that the program handles itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ControlFrame {
    /// Asks a member to stop.
    ShutdownRequest(ShutdownRequest),
    /// The member agrees to stop.
    ShutdownApproved(ShutdownApproved),
    /// The member refuses to stop.
    ShutdownRejected(ShutdownRejected),
    /// The member finished a turn and waits for messages.
    IdleNotification(IdleNotification),
    /// A task was assigned.
    TaskAssignment(TaskAssignment),
    /// A member requests permission for a call.
    PermissionRequest(PermissionRequestFrame),
    /// Answer to a permission request.
    PermissionResponse(PermissionResponse),
    /// A member submits a plan for approval.
    PlanApprovalRequest(PlanApprovalRequest),
    /// Answer to a plan approval request.
    PlanApprovalResponse(PlanApprovalResponse),
    /// A member requests network access to a host for a sandboxed command.
    SandboxPermissionRequest(SandboxPermissionRequest),
    /// Answer to a sandbox permission request.
    SandboxPermissionResponse(SandboxPermissionResponse),
    /// Attempts to set a member's permission mode; ignored.
    ModeSetRequest(ModeSetRequest),
    /// Attempts to add permission rules to a member; ignored.
    TeamPermissionUpdate(TeamPermissionUpdate),
    /// Asks a member to compact its conversation.
    CompactRequest(CompactRequest),
    /// Interrupts a member's turn.
    InterruptRequest(InterruptRequest),
}

impl ControlFrame {
    /// Serializes the frame as compact JSON.
    pub fn to_text(&self) -> String {
        // Serializing plain strings, options and JSON values cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses a text as a frame regardless of its sender. Returns `None` if it is not a frame, or
    /// has a type that is delivered as text.
    pub fn from_text(text: &str) -> Option<Self> {
        if !text.trim_start().starts_with('{') {
            return None;
        }
        parse_repaired(text).ok()
    }

    /// Returns the id of the request that this frame answers, if it is an answer.
    pub fn answered_request(&self) -> Option<&RequestId> {
        match self {
            ControlFrame::PermissionResponse(response) => Some(&response.request_id),
            ControlFrame::PlanApprovalResponse(response) => Some(&response.request_id),
            ControlFrame::SandboxPermissionResponse(response) => Some(&response.request_id),
            _ => None,
        }
    }

    /// Returns the value of `type` on the wire.
    pub fn type_name(&self) -> &'static str {
        match self {
            ControlFrame::ShutdownRequest(_) => "shutdown_request",
            ControlFrame::ShutdownApproved(_) => "shutdown_approved",
            ControlFrame::ShutdownRejected(_) => "shutdown_rejected",
            ControlFrame::IdleNotification(_) => "idle_notification",
            ControlFrame::TaskAssignment(_) => "task_assignment",
            ControlFrame::PermissionRequest(_) => "permission_request",
            ControlFrame::PermissionResponse(_) => "permission_response",
            ControlFrame::PlanApprovalRequest(_) => "plan_approval_request",
            ControlFrame::PlanApprovalResponse(_) => "plan_approval_response",
            ControlFrame::SandboxPermissionRequest(_) => "sandbox_permission_request",
            ControlFrame::SandboxPermissionResponse(_) => "sandbox_permission_response",
            ControlFrame::ModeSetRequest(_) => "mode_set_request",
            ControlFrame::TeamPermissionUpdate(_) => "team_permission_update",
            ControlFrame::CompactRequest(_) => "compact_request",
            ControlFrame::InterruptRequest(_) => "interrupt_request",
        }
    }

    /// Returns the frame in an entry if the entry may carry it: an entry marked by swarm, or an
    /// unmarked entry of another program whose sender may send that type (only the lead asks,
    /// answers and assigns; a member reports about itself).
    pub fn of_entry(entry: &InboxEntry) -> Option<Self> {
        if entry.is_marked() && !entry.is_marked_control() {
            return None;
        }
        let frame = Self::from_text(&entry.text)?;
        frame.may_come_from(&entry.from).then_some(frame)
    }

    fn may_come_from(&self, sender: &str) -> bool {
        match self {
            ControlFrame::ShutdownRequest(ShutdownRequest { from, .. })
            | ControlFrame::ModeSetRequest(ModeSetRequest { from, .. })
            | ControlFrame::CompactRequest(CompactRequest { from, .. })
            | ControlFrame::InterruptRequest(InterruptRequest { from, .. }) => {
                sender == LEAD_NAME && from == sender
            }
            ControlFrame::PermissionResponse(_)
            | ControlFrame::PlanApprovalResponse(_)
            | ControlFrame::SandboxPermissionResponse(_)
            | ControlFrame::TeamPermissionUpdate(_) => sender == LEAD_NAME,
            ControlFrame::TaskAssignment(TaskAssignment {
                assigned_by: speaker,
                ..
            })
            | ControlFrame::ShutdownApproved(ShutdownApproved { from: speaker, .. })
            | ControlFrame::ShutdownRejected(ShutdownRejected { from: speaker, .. })
            | ControlFrame::IdleNotification(IdleNotification { from: speaker, .. })
            | ControlFrame::PermissionRequest(PermissionRequestFrame {
                agent_id: speaker, ..
            })
            | ControlFrame::PlanApprovalRequest(PlanApprovalRequest { from: speaker, .. })
            | ControlFrame::SandboxPermissionRequest(SandboxPermissionRequest {
                worker_name: speaker,
                ..
            }) => speaker == sender,
        }
    }
}
