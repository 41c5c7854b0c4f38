//! How hard a model thinks.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How many tokens a model is to spend on an answer, from few to all that it takes. The words are those of agent
/// definitions and of the Messages API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// As few as it can do with.
    Low,
    /// In between.
    Medium,
    /// What models do when nothing is said.
    High,
    /// More than that.
    Xhigh,
    /// Without regard to the tokens.
    Max,
}

/// A word that is no effort.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not an effort; it is one of low, medium, high, xhigh and max", .0.escape_debug())]
pub struct UnknownEffort(pub String);

impl Effort {
    /// All of them, from the lowest.
    pub const ALL: [Self; 5] = [Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// The word.
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
    fn every_word_round_trips_and_others_are_refused() {
        for effort in Effort::ALL {
            assert_eq!(effort.name().parse(), Ok(effort));
            assert_eq!(serde_json::to_value(effort).unwrap(), effort.name());
        }
        assert_eq!(" HIGH ".parse(), Ok(Effort::High));
        assert!(Effort::Low < Effort::Max);
        for word in ["", "70", "huge"] {
            let error = word.parse::<Effort>().unwrap_err().to_string();
            assert!(
                error.contains("low, medium, high, xhigh and max"),
                "{error}"
            );
        }
    }
}
