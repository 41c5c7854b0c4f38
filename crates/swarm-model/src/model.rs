//! The trait that every client implements, and what its stream carries.

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
/// It ends after one [`ModelEvent::Completed`] or one error. Nothing happens before it is first polled, and
/// dropping it ends the request.
pub type ModelEvents = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A model that answers requests.
pub trait Model: Send + Sync + Debug {
    /// Asks the model. Transient failures are retried inside; `cancel` ends the stream at once with
    /// [`ModelError::Cancelled`].
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelEvents;

    /// Whether it leaves deferred tools out of the prompt until a result refers to them ([`crate::ToolSpec::deferred`]).
    fn defers_tools(&self) -> bool {
        false
    }

    /// Whether it takes PDF files as `document` blocks of the Messages API.
    fn takes_documents(&self) -> bool {
        false
    }
}

/// Something that happened while a model answers.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// More of the prose.
    TextDelta(String),
    /// More of the thinking.
    ThinkingDelta(String),
    /// The model began to write a tool call; its input comes with `Completed`.
    ToolUseStarted {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// The attempt failed and the whole request is sent again after `wait`. Everything streamed so far is
    /// void.
    Retrying {
        /// Number of the attempt that will be made, from 2.
        attempt: u32,
        /// Time until then.
        wait: Duration,
        /// What went wrong, for people.
        reason: String,
        /// Whether the server has too much to do.
        is_overload: bool,
    },
    /// Another model than before may answer from here on. What was streamed so far is void.
    Switched {
        /// What people are told; `None` where nothing has changed.
        notice: Option<String>,
        /// Tokens of its context window; `None` where it is not known.
        window: Option<u64>,
        /// Output tokens of one response; `None` where its limit is not known.
        max_output: Option<u32>,
    },
    /// The request is not sent before `wait` is over: the server has refused another client for its load.
    Waiting {
        /// Time until then.
        wait: Duration,
    },
    /// No answer will come; an error follows.
    Unanswered {
        /// What all attempts used, as far as the server told.
        usage: Usage,
    },
    /// The whole answer; the last event.
    Completed(ModelResponse),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResponse {
    /// What the model said. May be empty.
    pub content: Vec<ContentBlock>,
    /// Why it stopped.
    pub stop_reason: StopReason,
    /// Tokens of the answer and of the attempts that failed before it, as far as the server told; zeros from a server that
    /// counts none.
    pub usage: Usage,
    /// The model that answered, as the server names it.
    pub model: String,
}

impl ModelResponse {
    /// All prose of the answer, blocks joined by line breaks.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }
}
