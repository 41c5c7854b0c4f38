//! The parts of a client that differ between APIs.

use std::fmt::Debug;

use swarm_protocol::Usage;

use super::body::Body;
use super::connection::{Connection, Secret};
use super::endpoint::Address;
use super::failure::Failure;
use super::refusal::Refusal;
use crate::error::ModelError;
use crate::model::{ModelEvent, ModelResponse};
use crate::name::Provider;
use crate::request::ModelRequest;

/// Request format, answer format and error codes of one API.
pub(crate) trait Dialect: Debug + Send + Sync + 'static {
    type Answer: Assembly;

    fn provider(&self) -> Provider;

    fn address(&self) -> Result<Address, ModelError>;

    fn connection(&self) -> &Connection;

    /// See [`crate::Model::takes_documents`].
    fn takes_documents(&self) -> bool {
        false
    }

    /// Returns the secrets to redact from messages.
    fn secrets(&self) -> Vec<&Secret>;

    /// Serializes a request. The same request gives the same bytes until [`Dialect::adapt`] returns
    /// true.
    fn body(&self, request: &ModelRequest) -> Result<Body, ModelError>;

    /// Creates an empty answer to a request for `model`.
    fn answer(&self, model: &str) -> Self::Answer;

    /// Classifies a refusal. `message` is the line for display, without secrets.
    fn failure(&self, refusal: &Refusal, message: String, model: &str) -> Failure;

    /// Adapts to a refusal. Returns true if the next body differs from the refused one, so that an
    /// immediate retry is useful. Returns true only a few times during the lifetime of a client.
    fn adapt(&self, _refusal: &Refusal, _refused: &Body) -> bool {
        false
    }
}

/// A partially received answer.
pub(crate) trait Assembly: Debug + Send {
    /// Processes the data of one event. Fails with a description of invalid data.
    fn take(&mut self, data: &str) -> Result<Step, String>;

    /// Called when the stream has ended or timed out. Returns the answer if nothing essential is
    /// missing.
    fn end(&mut self) -> Option<ModelResponse>;

    /// Whether only metadata, such as token counts, can still follow.
    fn is_content_complete(&self) -> bool;

    /// Returns the usage that the server has reported so far.
    fn usage(&self) -> Usage;
}

/// Result of processing one event.
#[derive(Debug)]
pub(crate) enum Step {
    /// Events to emit; may be empty.
    Show(Vec<ModelEvent>),
    Refused(Refusal),
    Complete(ModelResponse),
}

impl Step {
    pub(crate) fn quiet() -> Self {
        Self::Show(Vec::new())
    }
}
