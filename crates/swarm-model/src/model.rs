//! The trait that every client implements, and the events of its stream.

use std::fmt::Debug;
use std::time::Duration;

use futures::stream::BoxStream;
use swarm_protocol::Usage;
use tokio_util::sync::CancellationToken;

use crate::error::ModelError;
use crate::message::ContentBlock;
use crate::request::ModelRequest;
use crate::stop::StopReason;

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
        /// Notice for display; `None` if the model is unchanged.
        notice: Option<String>,
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
