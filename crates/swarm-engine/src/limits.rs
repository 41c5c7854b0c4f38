//! Bounds of a session.

use std::time::Duration;

use swarm_protocol::Effort;

/// Bounds that keep a turn from running for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineLimits {
    /// Model requests in one turn; then the turn ends with `TurnLimit`.
    pub max_turns: u32,
    /// Output tokens of one answer.
    pub max_output_tokens: u32,
    /// Tokens to think with, below `max_output_tokens`; `None` turns thinking off.
    pub thinking_budget: Option<u32>,
    /// How hard the model thinks; `None` leaves it to the model.
    pub effort: Option<Effort>,
    /// Read-only calls that run at once.
    pub parallel_calls: usize,
    /// Times in one turn that an answer cut off at `max_output_tokens` is continued.
    pub continuations: u32,
    /// How long a call may take to end itself once the turn is interrupted, before it is dropped.
    pub cancel_grace: Duration,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            max_turns: 200,
            max_output_tokens: 32_000,
            thinking_budget: None,
            effort: None,
            parallel_calls: 8,
            continuations: 1,
            cancel_grace: Duration::from_secs(5),
        }
    }
}
