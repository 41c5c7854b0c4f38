//! Reasoning effort of a model.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How many tokens a model spends on an answer. Named as in agent definitions and the Messages API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Fewest tokens.
    Low,
    /// Between low and high.
    Medium,
    /// Default of the models.
    High,
    /// More than high.
    Xhigh,
    /// No limit on tokens.
    Max,
}

/// A word that is not an effort level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not an effort level: use low, medium, high, xhigh or max", .0.escape_debug())]
pub struct UnknownEffort(pub String);

impl Effort {
    /// All levels, lowest first.
    pub const ALL: [Self; 5] = [Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// Returns the name used in definitions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Effort {
    type Err = UnknownEffort;

    fn from_str(word: &str) -> Result<Self, UnknownEffort> {
        let wanted = word.trim();
        Self::ALL
            .into_iter()
            .find(|effort| effort.name().eq_ignore_ascii_case(wanted))
            .ok_or_else(|| UnknownEffort(word.to_owned()))
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
}
