//! Extended thinking of a model.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Extended thinking: whether a model thinks before it answers, and for how long. Written in files
/// as `off`, `adaptive`, or a number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Thinking {
    /// No thinking.
    #[default]
    Off,
    /// The model decides. Models without adaptive thinking do not think.
    Adaptive,
    /// At most this many tokens, at least [`Thinking::LEAST`].
    Tokens(u32),
}

/// A text that is not a thinking setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a thinking setting; use off, adaptive or a number of tokens from {}", .0.escape_debug(), Thinking::LEAST)]
pub struct UnknownThinking(pub String);

impl Thinking {
    /// The smallest budget that the Messages API accepts
    /// (<https://docs.claude.com/en/docs/build-with-claude/extended-thinking>).
    pub const LEAST: u32 = 1024;

    /// Converts a budget in tokens as in `MAX_THINKING_TOKENS`: 0 is off, and a budget below the
    /// minimum is raised to it.
    pub fn of_tokens(tokens: u32) -> Self {
        match tokens {
            0 => Self::Off,
            more => Self::Tokens(more.max(Self::LEAST)),
        }
    }
}

impl fmt::Display for Thinking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Adaptive => f.write_str("adaptive"),
            Self::Tokens(tokens) => write!(f, "{tokens}"),
        }
    }
}

impl FromStr for Thinking {
    type Err = UnknownThinking;

    fn from_str(text: &str) -> Result<Self, UnknownThinking> {
        match text.trim() {
            "off" | "0" => Ok(Self::Off),
            "adaptive" => Ok(Self::Adaptive),
            number => number
                .parse()
                .ok()
                .filter(|tokens| *tokens >= Self::LEAST)
                .map(Self::Tokens)
                .ok_or_else(|| UnknownThinking(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Thinking {
    type Error = UnknownThinking;

    fn try_from(text: String) -> Result<Self, UnknownThinking> {
        text.parse()
    }
}

impl From<Thinking> for String {
    fn from(thinking: Thinking) -> Self {
        thinking.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_settings_round_trip_and_small_budgets_are_rejected() {
        for thinking in [Thinking::Off, Thinking::Adaptive, Thinking::Tokens(8000)] {
            assert_eq!(thinking.to_string().parse(), Ok(thinking));
            let json = serde_json::to_string(&thinking).unwrap();
            assert_eq!(serde_json::from_str::<Thinking>(&json).unwrap(), thinking);
        }
        for wrong in ["", "on", "1023", "-1", "4294967296"] {
            assert!(wrong.parse::<Thinking>().is_err(), "{wrong}");
        }
        let budgets = [0, 1, 1024, 9000].map(Thinking::of_tokens);
        let smallest = Thinking::Tokens(1024);
        assert_eq!(
            budgets,
            [Thinking::Off, smallest, smallest, Thinking::Tokens(9000)]
        );
    }
}
