//! The question whether a call may be made, and its answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::RequestId;

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
