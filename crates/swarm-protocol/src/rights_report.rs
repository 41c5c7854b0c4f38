//! Permissions of a member, as it reports them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{PermissionMode, SpawnId};

/// A permission rule and its source, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleText {
    /// The rule, such as `Bash(git log:*)`.
    pub rule: String,
    /// A settings file, or `session` for a rule that a person granted with `--always`.
    pub origin: String,
}

/// `members/<name>/rights.json`: the rules in force in a member. Only the member writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RightsReport {
    /// Spawn of the member.
    pub spawn_id: SpawnId,
    /// Mode in force.
    pub mode: PermissionMode,
    /// Highest mode that it may have.
    pub ceiling: PermissionMode,
    /// Deny rules.
    pub deny: Vec<RuleText>,
    /// Rules for calls that always require approval.
    pub ask: Vec<RuleText>,
    /// Allow rules.
    pub allow: Vec<RuleText>,
    /// Additional working directories.
    #[serde(default)]
    pub directories: Vec<PathBuf>,
}
