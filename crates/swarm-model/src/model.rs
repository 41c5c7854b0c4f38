//! The trait that every client implements, the events of its stream, and stop reasons.

use std::fmt::{self, Debug};
use std::time::Duration;

use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use swarm_protocol::Usage;
use tokio_util::sync::CancellationToken;

use crate::error::ModelError;
use crate::message::ContentBlock;
use crate::request::ModelRequest;

/// The stream of one request.
///
/// It ends after one [`ModelEvent::Completed`] or one error. It is lazy: nothing happens until it
/// is polled, and dropping it cancels the request.
pub type ModelEvents = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A model that answers requests.
pub trait Model: Send + Sync + Debug {
    /// Sends a request. Transient failures are retried internally; `cancel` ends the stream
    /// immediately with [`ModelError::Cancelled`].
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelEvents;

    /// Whether the server keeps deferred tools out of the prompt until a result refers to them
    /// ([`crate::ToolSpec::deferred`]).
    fn defers_tools(&self) -> bool {
        false
    }

    /// Whether the model accepts PDF files as `document` blocks of the Messages API.
    fn takes_documents(&self) -> bool {
        false
    }
}

/// A model that answers until the end of the turn, because the agent's own is overloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// Full name of the model.
    pub model: String,
    /// Notice for display.
    pub notice: String,
}

/// An event of a model's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The next part of the text.
    TextDelta(String),
    /// The next part of the thinking.
    ThinkingDelta(String),
    /// The model began to write a tool call; its input comes with `Completed`.
    ToolUseStarted {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// The attempt failed and the whole request is sent again after `wait`. Discard everything
    /// streamed so far.
    Retrying {
        /// Number of the next attempt, from 2.
        attempt: u32,
        /// Time until the request is sent.
        wait: Duration,
        /// Reason for the failure, for display.
        reason: String,
        /// Whether the server is overloaded.
        is_overload: bool,
    },
    /// Another model may answer from now on. Discard everything streamed so far.
    Switched {
        /// Which one; `None` if the model is unchanged.
        fallback: Option<Fallback>,
        /// Context window in tokens; `None` if unknown.
        window: Option<u64>,
        /// Output limit in tokens; `None` if unknown.
        max_output: Option<u32>,
    },
    /// The request is delayed by `wait`, because the server refused another client due to overload.
    Waiting {
        /// Time until the request is sent.
        wait: Duration,
    },
    /// The request is not sent until a budget allows it ([`crate::RequestMeter`]).
    Held {
        /// The reason for display; `None` if the request is sent now.
        reason: Option<String>,
    },
    /// The request failed; an error follows.
    Unanswered {
        /// Usage of all attempts, as far as the server reported it.
        usage: Usage,
    },
    /// The complete answer; the last event.
    Completed(ModelResponse),
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResponse {
    /// Content blocks; may be empty.
    pub content: Vec<ContentBlock>,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// Tokens of the answer and of the failed attempts before it, as far as the server reported
    /// them; zero if the server does not count.
    pub usage: Usage,
    /// Name of the answering model, as reported by the server.
    pub model: String,
}

impl ModelResponse {
    /// Returns the text blocks of the answer, joined by line breaks.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(ContentBlock::as_text);
        texts.collect::<Vec<_>>().join("\n")
    }
}

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
