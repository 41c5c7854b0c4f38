//! Where forks of an agent begin.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_model::StoredMessage;
use swarm_tools::Tool;

use super::Head;

/// The conversation of an agent at the calls that are running; nothing between calls. Clones are the same point.
#[derive(Clone, Default)]
pub struct ForkPoint(Arc<Mutex<Option<Arc<Origin>>>>);

/// What the forks of one answer have in common.
pub(crate) struct Origin {
    /// The beginning of each request.
    pub(crate) head: Head,
    /// The tools behind the specs.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// The parent's conversation, up to and with the placeholders of its calls.
    pub(crate) messages: Vec<Arc<StoredMessage>>,
}

impl fmt::Debug for ForkPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForkPoint").finish_non_exhaustive()
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin")
            .field("messages", &self.messages.len())
            .finish_non_exhaustive()
    }
}

impl ForkPoint {
    /// The calls of an answer begin to run: forks begin here until the returned value is dropped.
    pub(crate) fn hold(&self, origin: Origin) -> Held {
        *self.0.lock() = Some(Arc::new(origin));
        Held(self.clone())
    }

    /// Where a fork begins now.
    pub(crate) fn origin(&self) -> Option<Arc<Origin>> {
        self.0.lock().clone()
    }
}

/// Keeps the tools of an agent reachable from themselves no longer than their calls run.
pub(crate) struct Held(ForkPoint);

impl Drop for Held {
    fn drop(&mut self) {
        *self.0.0.lock() = None;
    }
}
