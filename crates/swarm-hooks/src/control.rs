//! The JSON with which a hook that exits with 0 may answer.

use serde::Deserialize;
use serde_json::Value;

/// What a hook says about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// It need not be asked about. Of several the weakest.
    Allow,
    /// It has to be asked about.
    Ask,
    /// It does not run. Of several the strongest.
    Deny,
}

/// The fields that are known; others are ignored, as Claude Code's hooks may have more.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Control {
    #[serde(rename = "continue")]
    pub(crate) goes_on: Option<bool>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) suppress_output: bool,
    pub(crate) system_message: Option<String>,
    /// `block`, and for calls `approve`, an older word.
    pub(crate) decision: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) hook_specific_output: Specific,
}

/// What belongs to some events only.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Specific {
    pub(crate) permission_decision: Option<Permission>,
    pub(crate) permission_decision_reason: Option<String>,
    pub(crate) updated_input: Option<Value>,
    pub(crate) additional_context: Option<String>,
    /// Where the directory of a `WorktreeCreate` is.
    pub(crate) worktree_path: Option<String>,
    /// Whether the model may repeat a call that was denied.
    pub(crate) retry: Option<bool>,
    /// The answer to a `PermissionRequest`.
    pub(crate) decision: Option<RequestDecision>,
}

/// A hook's answer in a person's place.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestDecision {
    pub(crate) behavior: Permission,
    #[serde(default)]
    pub(crate) updated_input: Option<Value>,
    #[serde(default)]
    pub(crate) message: Option<String>,
}
