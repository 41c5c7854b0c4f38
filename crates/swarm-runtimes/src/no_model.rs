//! The model of a member whose agent program asks one itself.

use futures::stream;
use swarm_model::{Model, ModelError, ModelEvents, ModelRequest};
use tokio_util::sync::CancellationToken;

/// A model that answers no request: swarm has no access to the model of another agent program, for
/// example for prompt hooks or a compaction.
#[derive(Debug, Clone)]
pub struct NoModel {
    /// The agent program.
    pub program: String,
}

impl Model for NoModel {
    fn stream(&self, _request: ModelRequest, _cancel: CancellationToken) -> ModelEvents {
        let message = format!(
            "swarm cannot ask the model of the agent program {}",
            self.program
        );
        Box::pin(stream::iter([Err(ModelError::InvalidRequest(message))]))
    }
}
