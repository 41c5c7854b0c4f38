//! Requests for approval and for shutdown, and the responses.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{IsoTime, PaneId, RequestId, SpawnId, UnixMs};

/// `permission_request`; snake case on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequestFrame {
    /// `perm-<ms>-<7 base36>`.
    pub request_id: RequestId,
    /// Name of the member (not its agent id).
    pub agent_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// Id of the call in the model's message.
    pub tool_use_id: String,
    /// Description of the call.
    pub description: String,
    /// Exact input of the call.
    pub input: Value,
    /// Rules or modes that would cover this and similar calls.
    #[serde(default)]
    pub permission_suggestions: Vec<Value>,
}

/// `permission_response`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionResponse {
    /// Id of the answered request.
    pub request_id: RequestId,
    /// Answer, tagged by `subtype`.
    #[serde(flatten)]
    pub result: PermissionResult,
    /// Id of the call in the model's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// Exact call to which the answer applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_request: Option<ApprovedRequest>,
}

/// Answer to a permission request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum PermissionResult {
    /// Allowed, optionally with modified input or additional rules.
    Success {
        /// `updated_input` and `permission_updates`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<Value>,
    },
    /// Denied.
    Error {
        /// Message to the model.
        #[serde(default)]
        error: String,
    },
}

/// The call to which an approval is bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedRequest {
    /// Id of the call in the model's message.
    pub tool_use_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// [`crate::input_digest`] of tool and input.
    pub input_digest: String,
}

/// `plan_approval_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanApprovalRequest {
    /// Name of the member that submits the plan.
    pub from: String,
    /// Time of the request.
    pub timestamp: IsoTime,
    /// Path of the plan file on the member's machine.
    pub plan_file_path: String,
    /// Text of the plan.
    pub plan_content: String,
    /// `plan_approval-<ms>@<name>@<team>`.
    pub request_id: RequestId,
}

/// `plan_approval_response`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanApprovalResponse {
    /// Id of the answered request.
    pub request_id: RequestId,
    /// Whether the plan is approved.
    pub approved: bool,
    /// Feedback of the lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// Time of the response.
    pub timestamp: IsoTime,
    /// Mode in which to carry out the plan. Unknown values are preserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
}

/// `sandbox_permission_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPermissionRequest {
    /// `sandbox-<ms>-<7 base36>`.
    pub request_id: RequestId,
    /// Agent id of the requester.
    pub worker_id: String,
    /// Name of the requester.
    pub worker_name: String,
    /// Colour name of the requester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_color: Option<String>,
    /// Requested hosts.
    pub host_pattern: HostPattern,
    /// Time of the request.
    pub created_at: UnixMs,
}

/// Hosts that a command wants to access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPattern {
    /// Host name, optionally with wildcards.
    pub host: String,
}

/// `sandbox_permission_response`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPermissionResponse {
    /// Id of the answered request.
    pub request_id: RequestId,
    /// Requested host.
    pub host: String,
    /// Whether access is allowed.
    pub allow: bool,
    /// Time of the response.
    pub timestamp: IsoTime,
}

/// `shutdown_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownRequest {
    /// `shutdown-<ms>@<name>`.
    pub request_id: RequestId,
    /// Name of the requester.
    pub from: String,
    /// Reason for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Time of the request.
    pub timestamp: IsoTime,
    /// The spawn that is asked: a later one of the same name does not apply it to itself. Absent in requests of other
    /// programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_id: Option<SpawnId>,
    /// Whether the member stops immediately: its agent is not asked and its turn is interrupted.
    /// Absent if the agent may refuse.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// `shutdown_approved`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownApproved {
    /// Id of the answered request.
    pub request_id: RequestId,
    /// Name of the member.
    pub from: String,
    /// Time of the response.
    pub timestamp: IsoTime,
    /// Pane that is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane_id: Option<PaneId>,
    /// Backend of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_type: Option<String>,
}

/// `shutdown_rejected`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownRejected {
    /// Id of the answered request.
    pub request_id: RequestId,
    /// Name of the member, which continues.
    pub from: String,
    /// Reason for the refusal.
    pub reason: String,
    /// Time of the response.
    pub timestamp: IsoTime,
}
