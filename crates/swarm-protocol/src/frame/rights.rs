//! Frames that attempt to change a member's permissions. Claude Code ignores both (rules since
//! 2.1.236, modes by 2.1.329 at the latest): permissions are never taken from messages. Their types
//! are known so that they are ignored deliberately instead of reaching a model as text.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `mode_set_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeSetRequest {
    /// Requested mode. Unknown values are preserved.
    pub mode: String,
    /// Name of the requester.
    pub from: String,
}

/// `team_permission_update`.
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
