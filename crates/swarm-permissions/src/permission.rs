//! A question about a call that rules and mode leave open, and its answer.

use serde_json::Value;
use swarm_protocol::PermissionMode;

use crate::Suggestion;

/// A call that waits for permission.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// The model's id of the call.
    pub tool_use_id: String,
    /// The tool.
    pub tool: String,
    /// Its input, exactly as it would run.
    pub input: Value,
    /// The call in one line.
    pub description: String,
    /// What makes it a question.
    pub why: String,
    /// Grants that would save the next such question.
    pub suggestions: Vec<Suggestion>,
    /// The mode in which the agent goes on after a yes, where the call asks for another one.
    pub next_mode: Option<PermissionMode>,
}

/// The answer to a [`PermissionRequest`].
#[derive(Debug, Clone, PartialEq)]
pub enum PermissionOutcome {
    /// The call runs.
    Allow {
        /// The input to run with instead; `None` leaves it as it was asked. Deny rules apply to it all the same.
        updated_input: Option<Value>,
        /// Changes that the answer makes to the agent's rights, applied before the call runs.
        grants: Vec<Suggestion>,
    },
    /// The call does not run.
    Deny {
        /// What the model is told.
        why: String,
    },
}

impl PermissionOutcome {
    /// Denies with this reason.
    pub fn deny(why: impl Into<String>) -> Self {
        Self::Deny { why: why.into() }
    }
}
