//! Stop reasons of a model.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Reason why the model stopped: the `stop_reason` of the Messages API.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model is done. The content may be empty.
    EndTurn,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// `max_tokens` was reached. The last block may be incomplete.
    MaxTokens,
    /// The model generated a stop sequence.
    StopSequence,
    /// The server paused a long message; to continue, send the conversation with this message
    /// added.
    PauseTurn,
    /// The model or its safety layer declined to continue. The content may be empty or truncated.
    Refusal,
    /// The context window is full. The last block may be incomplete.
    ModelContextWindowExceeded,
    /// Any other reason.
    #[serde(untagged)]
    Other(String),
}

impl StopReason {
    /// Returns the value in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::ModelContextWindowExceeded => "model_context_window_exceeded",
            Self::Other(word) => word,
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_round_trips_both_ways() {
        for word in [
            "end_turn",
            "tool_use",
            "max_tokens",
            "stop_sequence",
            "pause_turn",
            "refusal",
            "model_context_window_exceeded",
            "something_later",
        ] {
            let reason: StopReason = serde_json::from_value(word.into()).unwrap();
            assert_eq!(reason.as_str(), word);
            let json = serde_json::to_value(&reason).unwrap();
            assert_eq!(json, word);
            assert_eq!(serde_json::from_value::<StopReason>(json).unwrap(), reason);
        }
    }
}
