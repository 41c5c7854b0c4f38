//! Options of model requests.

use std::fmt;
use std::str::FromStr;

use crate::{InvalidText, named_enum, serde_as_text};

named_enum! {
    /// How many tokens a model spends on an answer. Named as in agent definitions and the Messages API.
    #[derive(PartialOrd, Ord)]
    pub enum Effort {
        /// Fewest tokens.
        Low = "low",
        /// Between low and high.
        Medium = "medium",
        /// Default of the models.
        High = "high",
        /// More than high.
        Xhigh = "xhigh",
        /// No limit on tokens.
        Max = "max",
    }
}

impl FromStr for Effort {
    type Err = InvalidText;

    fn from_str(word: &str) -> Result<Self, InvalidText> {
        let expected = "an effort level: use low, medium, high, xhigh or max";
        let named = Self::named(&word.trim().to_ascii_lowercase());
        named.ok_or_else(|| InvalidText::new(word, expected))
    }
}

/// Extended thinking: whether a model thinks before it answers, and for how long. Written in files
/// as `off`, `adaptive`, or a number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thinking {
    /// No thinking.
    #[default]
    Off,
    /// The model decides. Models without adaptive thinking do not think.
    Adaptive,
    /// At most this many tokens, at least [`Thinking::LEAST`].
    Tokens(u32),
}

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
    type Err = InvalidText;

    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let expected = "a thinking setting; use off, adaptive or a number of tokens from 1024";
        match text.trim() {
            "off" | "0" => Ok(Self::Off),
            "adaptive" => Ok(Self::Adaptive),
            number => number
                .parse()
                .ok()
                .filter(|tokens| *tokens >= Self::LEAST)
                .map(Self::Tokens)
                .ok_or_else(|| InvalidText::new(text, expected)),
        }
    }
}

serde_as_text!(Thinking);

named_enum! {
    /// Lifetime of a prompt cache entry that is not read. Named as in the Messages API
    /// (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>).
    #[derive(Default)]
    pub enum CacheLifetime {
        /// Supported by every model.
        #[default]
        FiveMinutes = "5m",
        /// Cache writes cost more.
        OneHour = "1h",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_round_trips_and_other_words_are_rejected() {
        for effort in Effort::ALL {
            assert_eq!(effort.name().parse(), Ok(effort));
            assert_eq!(serde_json::to_value(effort).unwrap(), effort.name());
        }
        assert_eq!(" HIGH ".parse(), Ok(Effort::High));
        assert!(Effort::Low < Effort::Max);
        for word in ["", "70", "huge"] {
            let error = word.parse::<Effort>().unwrap_err().to_string();
            assert!(error.contains("low, medium, high, xhigh or max"), "{error}");
        }
    }

    #[test]
    fn thinking_settings_round_trip_and_small_budgets_are_rejected() {
        for thinking in [Thinking::Off, Thinking::Adaptive, Thinking::Tokens(8000)] {
            assert_eq!(thinking.to_string().parse(), Ok(thinking));
            let json = serde_json::to_string(&thinking).unwrap();
            assert_eq!(serde_json::from_str::<Thinking>(&json).unwrap(), thinking);
        }
        for wrong in ["", "on", "1023", "-1", "4294967296"] {
            let error = wrong.parse::<Thinking>().unwrap_err().to_string();
            assert!(error.ends_with(&Thinking::LEAST.to_string()), "{error}");
        }
        let budgets = [0, 1, 1024, 9000].map(Thinking::of_tokens);
        let smallest = Thinking::Tokens(1024);
        assert_eq!(
            budgets,
            [Thinking::Off, smallest, smallest, Thinking::Tokens(9000)]
        );
    }
}
