//! Limits of a session.

use std::time::Duration;

use swarm_protocol::{Effort, Thinking};

/// Limits that guarantee that a turn ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimits {
    /// Most model requests in one turn; then the turn ends with [`crate::TurnStop::Limit`].
    pub max_turns: u32,
    /// Most output tokens of one response, according to the model.
    pub max_output_tokens: u32,
    /// Tokens of the model's context window; `None` if unknown.
    pub window: Option<u64>,
    /// Percentage of the window at which the conversation is compacted.
    pub compact_at: u32,
    /// Whether old tool results are cleared before that, if it frees enough.
    pub clear_tool_results: bool,
    /// Whether the model thinks before it answers.
    pub thinking: Thinking,
    /// Thinking effort; `None` uses the model's default.
    pub effort: Option<Effort>,
    /// Most characters of one tool result; `None` uses the tools' limits.
    pub output_chars: Option<usize>,
    /// Most concurrent tool calls, for calls that may run in parallel.
    pub parallel_calls: usize,
    /// Most continuations per turn of a response that was cut off at `max_output_tokens`.
    pub continuations: u32,
    /// How long a call may take to stop after the turn is interrupted, before it is dropped.
    pub cancel_grace: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            max_turns: 200,
            max_output_tokens: Self::USUAL_OUTPUT,
            window: None,
            compact_at: 80,
            clear_tool_results: true,
            thinking: Thinking::Off,
            effort: None,
            output_chars: None,
            parallel_calls: 8,
            continuations: 1,
            cancel_grace: Duration::from_millis(1500),
        }
    }
}

impl SessionLimits {
    /// Output limit if the model's limit is unknown, and the most that the window reserves for a
    /// response, in tokens.
    pub const USUAL_OUTPUT: u32 = 32_000;

    /// Returns the tokens of the window that are reserved for a response.
    pub(crate) fn room_for_answer(&self) -> u32 {
        self.max_output_tokens.min(Self::USUAL_OUTPUT)
    }

    /// Returns the output limit for a conversation of `conversation` tokens. Servers reject a
    /// request whose conversation and output limit together exceed the window, so a limit above the
    /// usual one applies only while there is room for it.
    pub(crate) fn output_after(&self, conversation: u64) -> u32 {
        let Some(window) = self.window else {
            return self.max_output_tokens;
        };
        let left = u32::try_from(window.saturating_sub(conversation)).unwrap_or(u32::MAX);
        left.clamp(self.room_for_answer(), self.max_output_tokens)
    }

    /// Cuts a tool's output to the limit.
    pub(crate) fn cut(&self, output: String) -> String {
        match self.output_chars {
            Some(limit) => cut(output, limit),
            None => output,
        }
    }
}

/// Cuts a text to `limit` characters and notes how many are missing.
pub(crate) fn cut(mut text: String, limit: usize) -> String {
    let Some((at, _)) = text.char_indices().nth(limit) else {
        return text;
    };
    let missing = text[at..].chars().count();
    text.truncate(at);
    format!("{text}\n[cut here: {missing} more characters]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(max_output_tokens: u32, window: Option<u64>) -> SessionLimits {
        SessionLimits {
            max_output_tokens,
            window,
            ..SessionLimits::default()
        }
    }

    #[test]
    fn an_output_limit_above_the_usual_one_applies_while_the_window_has_room_for_it() {
        let large = limits(128_000, Some(200_000));
        for (conversation, expected) in [
            (0, 128_000),
            (72_000, 128_000),
            (100_000, 100_000),
            (190_000, 32_000),
            (300_000, 32_000),
        ] {
            assert_eq!(large.output_after(conversation), expected, "{conversation}");
        }
        assert_eq!(limits(128_000, None).output_after(190_000), 128_000);
    }

    #[test]
    fn an_output_limit_below_the_usual_one_always_applies() {
        let small = limits(8_192, Some(200_000));
        assert_eq!(small.output_after(0), 8_192);
        assert_eq!(small.output_after(199_999), 8_192);
        assert_eq!(small.room_for_answer(), 8_192);
    }
}
