//! Asking for permission.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;
use swarm_policy::Suggestion;
use tokio_util::sync::CancellationToken;

/// A call that rules and mode leave open.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
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
}

/// The answer to an [`Ask`].
#[derive(Debug, Clone, PartialEq)]
pub enum GateAnswer {
    /// The call runs.
    Allow {
        /// The input to run with instead; `None` leaves it as it was asked. Denials apply to it all the same.
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

/// Whoever can answer: a person, or the lead by mail.
#[async_trait]
pub trait PermissionGate: Send + Sync + fmt::Debug {
    /// Asks and waits for the answer; no answer means [`GateAnswer::Deny`]. When `cancel` falls, the question is
    /// withdrawn and the answer no longer counts. The gate reports that the agent waits, since it knows what a person
    /// must name to answer; that the agent works again is reported by the session.
    async fn ask(&self, ask: Ask, cancel: CancellationToken) -> GateAnswer;
}

/// The gate of an agent for which nobody can answer: everything that would be asked is refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyToAsk;

#[async_trait]
impl PermissionGate for NobodyToAsk {
    async fn ask(&self, ask: Ask, _cancel: CancellationToken) -> GateAnswer {
        GateAnswer::Deny {
            why: format!("{}, and nobody is there to answer", ask.why),
        }
    }
}
