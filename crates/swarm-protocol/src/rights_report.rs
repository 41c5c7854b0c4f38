//! What a member may do, as it writes it down itself.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{PermissionMode, SpawnId};

/// A permission rule and where it came from, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleText {
    /// Such as `Bash(git log:*)`.
    pub rule: String,
    /// Such as a settings file, or `session` for what a person granted with `--always`.
    pub origin: String,
}

/// `members/<name>/rights.json`: the rules in force in a member, written by the member alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RightsReport {
    /// Which spawn.
    pub spawn_id: SpawnId,
    /// The mode in force.
    pub mode: PermissionMode,
    /// The mode that it cannot rise above.
    pub ceiling: PermissionMode,
    /// Calls that are refused.
    pub deny: Vec<RuleText>,
    /// Calls that are always asked about.
    pub ask: Vec<RuleText>,
    /// Calls that run without a question.
    pub allow: Vec<RuleText>,
    /// Directories that count as part of the working directory.
    #[serde(default)]
    pub directories: Vec<PathBuf>,
}
