//! Frames that would change a member's rights. Claude Code drops both (rules since 2.1.236, modes by 2.1.329 at the
//! latest): rights are not taken from mail. They are known by type so that they can be dropped knowingly instead of
//! reaching a model as text.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `mode_set_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeSetRequest {
    /// The mode that is wanted. Words of other versions are kept.
    pub mode: String,
    /// Who asks.
    pub from: String,
}

/// `team_permission_update`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamPermissionUpdate {
    /// The change, in the shape of the permission suggestions.
    pub permission_update: Value,
    /// The directory it is for.
    pub directory_path: String,
    /// The tool it is for.
    pub tool_name: String,
}
