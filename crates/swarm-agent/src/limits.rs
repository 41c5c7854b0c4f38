//! Bounds of a session.

use std::time::Duration;

use swarm_protocol::{Effort, Thinking};

/// Bounds that keep a turn from running for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimits {
    /// Model requests in one turn; then the turn ends with `TurnLimit`.
    pub max_turns: u32,
    /// Output tokens of one answer: what the model takes at most.
    pub max_output_tokens: u32,
    /// Tokens of the model's context window; `None` where it is not known.
    pub window: Option<u64>,
    /// Percent of the window at which the conversation is compacted.
    pub compact_at: u32,
    /// Whether old tool results are cleared before that, where it frees enough.
    pub clear_tool_results: bool,
    /// Whether the model thinks before it answers.
    pub thinking: Thinking,
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
    /// Output tokens of one answer where the model's limit is not known, and the most that the window keeps free for one.
    pub const USUAL_OUTPUT: u32 = 32_000;

    /// The part of the window that is kept free for an answer.
    pub(crate) fn room_for_answer(&self) -> u32 {
        self.max_output_tokens.min(Self::USUAL_OUTPUT)
    }

    /// Output tokens of the answer to a conversation of so many tokens. Servers refuse a request whose conversation and
    /// output limit together exceed the window, so a limit above the usual one applies only while there is room for it.
    pub(crate) fn output_after(&self, conversation: u64) -> u32 {
        let Some(window) = self.window else {
            return self.max_output_tokens;
        };
        let left = u32::try_from(window.saturating_sub(conversation)).unwrap_or(u32::MAX);
        left.clamp(self.room_for_answer(), self.max_output_tokens)
    }

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
