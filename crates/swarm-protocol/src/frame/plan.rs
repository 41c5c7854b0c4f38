//! The approval of a plan.

use serde::{Deserialize, Serialize};

use crate::{IsoTime, RequestId};

/// `plan_approval_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanApprovalRequest {
    /// Whose plan it is.
    pub from: String,
    /// When.
    pub timestamp: IsoTime,
    /// The file that holds the plan, as a path on the member's machine.
    pub plan_file_path: String,
    /// The plan.
    pub plan_content: String,
    /// `plan_approval-<ms>@<name>@<team>`.
    pub request_id: RequestId,
}

/// `plan_approval_response`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanApprovalResponse {
    /// The request that is answered.
    pub request_id: RequestId,
    /// Whether the plan may be carried out.
    pub approved: bool,
    /// What the lead thinks of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// When.
    pub timestamp: IsoTime,
    /// The mode in which the plan is to be carried out. Words of other versions are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
}
