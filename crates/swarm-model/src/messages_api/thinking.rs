//! Request field for extended thinking, depending on the model.
//!
//! Models before 4.6 take a token budget, models from 4.7 decide for themselves and refuse a
//! budget, and models between take both
//! (<https://docs.claude.com/en/docs/build-with-claude/adaptive-thinking>). The field is the same
//! in every request of a conversation, since a change would invalidate the prompt cache.

use serde::Serialize;
use swarm_protocol::Thinking;

use super::effort::family_and_version;

/// First version with adaptive thinking.
const ADAPTIVE_FROM: (u32, u32) = (4, 6);

/// First version that refuses a budget.
const NO_BUDGET_FROM: (u32, u32) = (4, 7);

/// Value of the field `thinking`.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum WireThinking {
    /// The model decides how much to think.
    Adaptive,
    /// The model thinks within a budget.
    Enabled {
        /// Tokens; less than `max_tokens`.
        budget_tokens: u32,
    },
}

/// Returns the field for `model`, or `None` if the model does not think. `max_tokens` is the output
/// limit.
pub(super) fn sendable(model: &str, wanted: Thinking, max_tokens: u32) -> Option<WireThinking> {
    let version = family_and_version(model)
        .filter(|(family, _)| family.starts_with(|c: char| c.is_ascii_alphabetic()))
        .map(|(_, version)| version);
    match wanted {
        Thinking::Off => None,
        Thinking::Adaptive => version
            .is_some_and(|version| version >= ADAPTIVE_FROM)
            .then_some(WireThinking::Adaptive),
        Thinking::Tokens(_) if version.is_some_and(|version| version >= NO_BUDGET_FROM) => {
            Some(WireThinking::Adaptive)
        }
        Thinking::Tokens(_) if lacks_thinking(model) => None,
        Thinking::Tokens(tokens) => {
            let budget_tokens = tokens.min(max_tokens.saturating_sub(1));
            (budget_tokens >= Thinking::LEAST).then_some(WireThinking::Enabled { budget_tokens })
        }
    }
}

/// Whether the model predates extended thinking.
fn lacks_thinking(model: &str) -> bool {
    model.starts_with("claude-3-") && !model.starts_with("claude-3-7-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thinking_field_depends_on_the_model() {
        let adaptive = || Some(WireThinking::Adaptive);
        let budget = |budget_tokens| Some(WireThinking::Enabled { budget_tokens });
        let rows = [
            // model, adaptive, 8000 tokens
            ("claude-opus-4-6", adaptive(), budget(8000)),
            ("claude-sonnet-4-6-20260101", adaptive(), budget(8000)),
            ("claude-opus-4-7", adaptive(), adaptive()),
            ("claude-haiku-5", adaptive(), adaptive()),
            ("claude-haiku-4-5-20251001", None, budget(8000)),
            ("claude-opus-4-20250514", None, budget(8000)),
            ("claude-3-7-sonnet-latest", None, budget(8000)),
            ("claude-3-5-haiku-latest", None, None),
            ("other-vendor", None, budget(8000)),
        ];
        for (model, decided, bounded) in rows {
            assert_eq!(sendable(model, Thinking::Off, 32_000), None, "{model}");
            assert_eq!(
                sendable(model, Thinking::Adaptive, 32_000),
                decided,
                "{model}"
            );
            let tokens = Thinking::Tokens(8000);
            assert_eq!(sendable(model, tokens, 32_000), bounded, "{model}");
        }
        let tight = |max_tokens| sendable("claude-haiku-4-5", Thinking::Tokens(8000), max_tokens);
        assert_eq!(tight(4096), budget(4095));
        assert_eq!(tight(1024), None, "below the server's minimum budget");
    }
}
