//! Plan approval requests and responses.

use serde::{Deserialize, Serialize};

use crate::{IsoTime, RequestId};

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
