//! Grants that an answer may carry, in the shape of Claude Code's `permission_suggestions` and `permission_updates`.

use serde::{Deserialize, Serialize};
use swarm_protocol::PermissionMode;

/// A change to the rules in force that would save the next such question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Suggestion {
    /// Adds rules.
    #[serde(rename_all = "camelCase")]
    AddRules {
        /// The rules.
        rules: Vec<RuleValue>,
        /// The list they join.
        behavior: Behavior,
        /// How long they last.
        destination: Destination,
    },
    /// Adds folders that count as part of the working folder.
    #[serde(rename_all = "camelCase")]
    AddDirectories {
        /// Absolute paths.
        directories: Vec<String>,
        /// How long they last.
        destination: Destination,
    },
    /// Changes the mode.
    #[serde(rename_all = "camelCase")]
    SetMode {
        /// The mode.
        mode: PermissionMode,
        /// How long it lasts.
        destination: Destination,
    },
}

/// A rule in two parts, as messages carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleValue {
    /// The tool.
    pub tool_name: String,
    /// What stands between the brackets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// Which list a rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Behavior {
    /// Calls run.
    Allow,
    /// Calls are refused.
    Deny,
    /// Calls are asked about.
    Ask,
}

/// Where a granted change is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Destination {
    /// In the running agent only.
    Session,
    /// In `.claude/settings.local.json`.
    LocalSettings,
    /// In `.claude/settings.json`.
    ProjectSettings,
    /// In the user's `settings.json`.
    UserSettings,
}
