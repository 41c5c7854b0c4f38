//! Request fields for effort and extended thinking, depending on the model.

use serde::Serialize;
use swarm_protocol::{Effort, Thinking};

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
pub(super) fn sendable_thinking(
    model: &str,
    wanted: Thinking,
    max_tokens: u32,
) -> Option<WireThinking> {
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

/// Efforts of the first models with the field.
const FIRST: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High];

/// Efforts of the following generation.
const SECOND: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High, Effort::Max];

/// Returns the effort to send to `model`: the highest supported one up to `wanted`, or `None` if it
/// supports none.
pub(super) fn sendable_effort(model: &str, wanted: Effort) -> Option<Effort> {
    let known = known(model)?;
    known.iter().rev().copied().find(|effort| *effort <= wanted)
}

fn known(model: &str) -> Option<&'static [Effort]> {
    match family_and_version(model)? {
        ("opus", (4, 5)) => Some(FIRST),
        ("opus" | "sonnet", (4, 6)) => Some(SECOND),
        ("opus" | "sonnet", version) if version >= (4, 7) => Some(&Effort::ALL),
        _ => None,
    }
}

/// Splits an id such as `claude-opus-4-6` into family and version. Returns `None` for older ids and
/// other vendors.
pub(super) fn family_and_version(model: &str) -> Option<(&str, (u32, u32))> {
    let (family, version) = model.strip_prefix("claude-")?.split_once('-')?;
    Some((family, version_of(version)?))
}

/// Parses `4-6`, `4-6-20260101` or `5`; a date directly after the first number is not a minor
/// version.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('-');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().filter(|part| part.len() <= 2);
    Some((major, minor.and_then(|part| part.parse().ok()).unwrap_or(0)))
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
            let settings = [Thinking::Off, Thinking::Adaptive, Thinking::Tokens(8000)];
            let sent = settings.map(|thinking| sendable_thinking(model, thinking, 32_000));
            assert_eq!(sent, [None, decided, bounded], "{model}");
        }
        let tight =
            |max_tokens| sendable_thinking("claude-haiku-4-5", Thinking::Tokens(8000), max_tokens);
        assert_eq!(tight(4096), budget(4095));
        assert_eq!(tight(1024), None, "below the server's minimum budget");
    }

    #[test]
    fn the_highest_supported_effort_up_to_the_requested_one_is_sent() {
        let sent = |model, wanted: Effort| sendable_effort(model, wanted).map(Effort::name);
        let rows = [
            ("claude-opus-4-5-20251101", Effort::Max, Some("high")),
            ("claude-opus-4-6", Effort::Low, Some("low")),
            ("claude-sonnet-4-6", Effort::Xhigh, Some("high")),
            ("claude-sonnet-4-6", Effort::Max, Some("max")),
            ("claude-opus-4-7", Effort::Xhigh, Some("xhigh")),
            ("claude-sonnet-5", Effort::Xhigh, Some("xhigh")),
            ("claude-opus-4-20250514", Effort::High, None),
            ("claude-sonnet-4-5", Effort::High, None),
            ("claude-haiku-4-5", Effort::Low, None),
            ("claude-3-7-sonnet-latest", Effort::Low, None),
            ("gpt-oss:20b", Effort::Low, None),
            ("claude-", Effort::Low, None),
        ];
        for (model, wanted, expected) in rows {
            assert_eq!(sent(model, wanted), expected, "{model} {wanted}");
        }
    }
}
