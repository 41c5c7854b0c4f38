//! The point in a conversation at which forks begin.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_model::StoredMessage;
use swarm_tools::Tool;

use super::Head;

/// The conversation at which forks of an agent begin, set only while calls run. Clones share it.
#[derive(Clone, Default)]
pub struct ForkPoint(Arc<Mutex<Option<Arc<Origin>>>>);

/// What the forks of one response share.
pub(crate) struct Origin {
    /// The beginning of each request.
    pub(crate) head: Head,
    /// The tools that the specifications describe.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// The parent's conversation including the placeholder results of its calls.
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
    /// Sets the origin for forks until the returned guard is dropped.
    pub(crate) fn set(&self, origin: Origin) -> ForkPointGuard {
        *self.0.lock() = Some(Arc::new(origin));
        ForkPointGuard(self.clone())
    }

    /// Returns the current origin; `None` between calls.
    pub(crate) fn origin(&self) -> Option<Arc<Origin>> {
        self.0.lock().clone()
    }
}

/// Clears the fork point on drop, so that the tools keep no reference to themselves after their
/// calls.
pub(crate) struct ForkPointGuard(ForkPoint);

impl Drop for ForkPointGuard {
    fn drop(&mut self) {
        *self.0.0.lock() = None;
    }
}
