//! How extended thinking is asked of which model.
//!
//! Models before 4.6 think within a budget of tokens, those from 4.7 on decide for themselves and refuse a budget, and
//! those between take both (<https://docs.claude.com/en/docs/build-with-claude/adaptive-thinking>). The same request for
//! thinking is the same bytes in each request of a conversation, since other bytes would lose the prompt cache.

use serde::Serialize;
use swarm_protocol::Thinking;

use super::effort::family_and_version;

/// The first models with adaptive thinking.
const ADAPTIVE_FROM: (u32, u32) = (4, 6);

/// The first models without a budget.
const NO_BUDGET_FROM: (u32, u32) = (4, 7);

/// The field `thinking`.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum WireThinking {
    /// As the model finds right.
    Adaptive,
    /// Within a budget.
    Enabled {
        /// Tokens, below the limit of the answer.
        budget_tokens: u32,
    },
}

/// What is sent to `model`; `None` where it does not think. `max_tokens` is the limit of the answer.
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
        Thinking::Tokens(_) if thinks_never(model) => None,
        Thinking::Tokens(tokens) => {
            let budget_tokens = tokens.min(max_tokens.saturating_sub(1));
            (budget_tokens >= Thinking::LEAST).then_some(WireThinking::Enabled { budget_tokens })
        }
    }
}

/// The models before the first that think.
fn thinks_never(model: &str) -> bool {
    model.starts_with("claude-3-") && !model.starts_with("claude-3-7-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_is_asked_of_each_model_in_its_own_way() {
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
            ("somebody-elses", None, budget(8000)),
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
        assert_eq!(tight(1024), None, "the server takes no smaller budget");
    }
}
