//! The JSON that a successful hook may print.

use serde::Deserialize;
use serde_json::Value;

/// A hook's permission decision on a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// The call needs no approval. The weakest decision.
    Allow,
    /// The call requires approval.
    Ask,
    /// The call is denied. The strongest decision.
    Deny,
}

/// The supported fields. Unknown fields are ignored, because Claude Code's hooks may have more.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ControlOutput {
    #[serde(rename = "continue")]
    pub(crate) should_continue: Option<bool>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) suppress_output: bool,
    pub(crate) system_message: Option<String>,
    /// `block`; for tool calls also the older `approve`.
    pub(crate) decision: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) hook_specific_output: EventOutput,
}

/// Fields that apply to some events only.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EventOutput {
    pub(crate) permission_decision: Option<Permission>,
    pub(crate) permission_decision_reason: Option<String>,
    pub(crate) updated_input: Option<Value>,
    pub(crate) additional_context: Option<String>,
    /// The path of the directory created by a `WorktreeCreate` hook.
    pub(crate) worktree_path: Option<String>,
    /// Whether the model may repeat a call that was denied.
    pub(crate) retry: Option<bool>,
    /// The answer to a `PermissionRequest`.
    pub(crate) decision: Option<RequestDecision>,
}

/// A hook's answer to a permission request.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestDecision {
    pub(crate) behavior: Permission,
    pub(crate) updated_input: Option<Value>,
    pub(crate) message: Option<String>,
}
