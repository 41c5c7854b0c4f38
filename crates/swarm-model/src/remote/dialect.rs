//! What one API does in its own way.

use std::fmt::Debug;

use swarm_protocol::Usage;

use super::body::Body;
use super::connection::Connection;
use super::endpoint::Address;
use super::failure::Failure;
use super::refusal::Refusal;
use crate::error::ModelError;
use crate::model::{ModelEvent, ModelResponse};
use crate::name::Provider;
use crate::request::ModelRequest;
use crate::secret::Secret;

/// How one API writes requests, reads answers, and says no.
pub(crate) trait Dialect: Debug + Send + Sync + 'static {
    /// An answer in the making.
    type Answer: Assembly;

    /// Whose API it is.
    fn provider(&self) -> Provider;

    /// Where requests go, and with which headers.
    fn address(&self) -> Result<Address, ModelError>;

    /// How the server is reached.
    fn connection(&self) -> &Connection;

    /// What must not show in any message.
    fn secrets(&self) -> Vec<&Secret>;

    /// The body of a request: the same request gives the same bytes, until [`Dialect::learn`] changed something.
    fn body(&self, request: &ModelRequest) -> Result<Body, ModelError>;

    /// An empty answer to a request for `model`.
    fn answer(&self, model: &str) -> Self::Answer;

    /// What a refusal means. `message` is the line for people, already without secrets.
    fn failure(&self, refusal: &Refusal, message: String, model: &str) -> Failure;

    /// Takes a lesson from a refusal: true when the next body will differ from the refused one, so that asking again at
    /// once makes sense. It can say so only a few times in the life of a client.
    fn learn(&self, _refusal: &Refusal, _refused: &Body) -> bool {
        false
    }
}

/// An answer in the making.
pub(crate) trait Assembly: Debug + Send {
    /// Takes the data of one event in. An error says what is wrong with it.
    fn take(&mut self, data: &str) -> Result<Step, String>;

    /// The server has closed the stream or fallen silent: the answer, if nothing of weight is missing from it.
    fn end(&mut self) -> Option<ModelResponse>;

    /// Whether only side matters, such as token counts, can still come.
    fn is_spoken(&self) -> bool;

    /// What the server has counted so far.
    fn usage(&self) -> Usage;
}

/// What the data of one event meant.
#[derive(Debug)]
pub(crate) enum Step {
    /// Things to pass on, often none.
    Show(Vec<ModelEvent>),
    /// The server gave up.
    Refused(Refusal),
    /// The answer is whole.
    Complete(ModelResponse),
}

impl Step {
    /// Nothing that a consumer would see.
    pub(crate) fn quiet() -> Self {
        Self::Show(Vec::new())
    }
}
