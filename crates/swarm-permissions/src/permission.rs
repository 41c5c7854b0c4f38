//! A request for permission for a call that rules and mode leave undecided, and its outcome.

use serde_json::Value;
use swarm_protocol::PermissionMode;

use crate::Suggestion;

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
