//! A request for permission, and the outcome of a permission decision, with rule changes in the
//! format of Claude Code's `permission_suggestions` and `permission_updates`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use swarm_protocol::PermissionMode;

use crate::{Behavior, Rule, RuleError};

/// The decision about a call. Each `why` names the rule and its origin, or the mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The call runs.
    Allow {
        /// The reason.
        why: String,
    },
    /// The call is denied; the model receives the reason.
    Deny {
        /// The reason.
        why: String,
    },
    /// A person or the lead must approve the call; without an answer it is denied.
    Ask {
        /// The reason.
        why: String,
        /// Rules that would allow such calls in future.
        suggestions: Vec<Suggestion>,
    },
}

impl Decision {
    /// Returns whether the call may run without approval.
    pub fn is_allow(&self) -> bool {
        matches!(self, Decision::Allow { .. })
    }

    /// Returns the reason.
    pub fn why(&self) -> &str {
        match self {
            Decision::Allow { why } | Decision::Deny { why } | Decision::Ask { why, .. } => why,
        }
    }
}

/// A change to the effective rules that allows or denies such calls in future.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Suggestion {
    /// Adds rules.
    #[serde(rename_all = "camelCase")]
    AddRules {
        /// The rules.
        rules: Vec<RuleValue>,
        /// The list to add them to.
        behavior: Behavior,
        /// Where they are stored.
        destination: Destination,
    },
    /// Adds additional working directories.
    #[serde(rename_all = "camelCase")]
    AddDirectories {
        /// Absolute paths.
        directories: Vec<String>,
        /// Where they are stored.
        destination: Destination,
    },
    /// Changes the mode.
    #[serde(rename_all = "camelCase")]
    SetMode {
        /// The mode.
        mode: PermissionMode,
        /// Where it is stored.
        destination: Destination,
    },
}

/// A rule in two parts, as in messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleValue {
    /// The tool.
    pub tool_name: String,
    /// The text in the parentheses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// Where a change is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Destination {
    /// Only in the running agent.
    Session,
    /// In `.claude/settings.local.json`.
    LocalSettings,
    /// In `.claude/settings.json`.
    ProjectSettings,
    /// In the user's `settings.json`.
    UserSettings,
}

impl RuleValue {
    /// Combines the two parts to a rule.
    pub fn rule(&self) -> Result<Rule, RuleError> {
        match &self.rule_content {
            None => Rule::parse(&self.tool_name),
            Some(content) => Rule::parse(&format!("{}({content})", self.tool_name)),
        }
    }
}

/// A call that requires approval.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// The call's id, assigned by the model.
    pub tool_use_id: String,
    /// The tool.
    pub tool: String,
    /// The input, exactly as it would run.
    pub input: Value,
    /// The call in one line.
    pub description: String,
    /// Why approval is required.
    pub why: String,
    /// Rules that would allow such calls in future.
    pub suggestions: Vec<Suggestion>,
    /// The agent's mode after approval, if the call requests a change.
    pub next_mode: Option<PermissionMode>,
}

/// The outcome of a [`PermissionRequest`].
#[derive(Debug, Clone, PartialEq)]
pub enum PermissionOutcome {
    /// The call runs.
    Allow {
        /// The replacement for the input; `None` keeps the requested one. Deny rules also apply to
        /// it.
        updated_input: Option<Value>,
        /// Changes to the agent's rules, applied before the call runs.
        grants: Vec<Suggestion>,
    },
    /// The call does not run.
    Deny {
        /// The reason for the model.
        why: String,
        /// Whether it was answered. Otherwise no answer came in time, or no one could be asked.
        answered: bool,
    },
}

impl PermissionOutcome {
    /// Creates an approval without grants.
    pub fn allow(updated_input: Option<Value>) -> Self {
        Self::Allow {
            updated_input,
            grants: Vec::new(),
        }
    }

    /// Creates a denial with a reason.
    pub fn deny(why: impl Into<String>) -> Self {
        Self::Deny {
            why: why.into(),
            answered: true,
        }
    }

    /// Denies for lack of an answer, with this reason.
    pub fn unanswered(why: impl Into<String>) -> Self {
        Self::Deny {
            why: why.into(),
            answered: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_tells_whether_somebody_answered() {
        let answered = |outcome| match outcome {
            PermissionOutcome::Deny { answered, .. } => answered,
            PermissionOutcome::Allow { .. } => unreachable!(),
        };
        assert!(answered(PermissionOutcome::deny("no")));
        assert!(!answered(PermissionOutcome::unanswered("late")));
    }
}
