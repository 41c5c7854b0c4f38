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
    /// Tokens of the model's context window; `None` where it is not known.
    pub window: Option<u64>,
    /// Percent of the window at which the conversation is compacted.
    pub compact_at: u32,
    /// Whether old tool results are cleared before that, where it frees enough.
    pub clear_tool_results: bool,
    /// Tokens to think with, below `max_output_tokens`; `None` turns thinking off.
    pub thinking_budget: Option<u32>,
    /// How hard the model thinks; `None` leaves it to the model.
    pub effort: Option<Effort>,
    /// Characters of one tool's output that the model reads; `None` leaves that to the tools.
    pub output_chars: Option<usize>,
    /// Calls that run at once where they may run side by side.
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
            window: None,
            compact_at: 80,
            clear_tool_results: true,
            thinking_budget: None,
            effort: None,
            output_chars: None,
            parallel_calls: 8,
            continuations: 1,
            cancel_grace: Duration::from_secs(5),
        }
    }
}

impl EngineLimits {
    /// A tool's output as the model gets to read it.
    pub(crate) fn cut(&self, output: String) -> String {
        match self.output_chars {
            Some(limit) => cut(output, limit),
            None => output,
        }
    }
}

/// A text of at most `limit` characters, and a word about what is missing.
pub(crate) fn cut(mut text: String, limit: usize) -> String {
    let Some((at, _)) = text.char_indices().nth(limit) else {
        return text;
    };
    let missing = text[at..].chars().count();
    text.truncate(at);
    format!("{text}\n[cut here: {missing} more characters]")
}
