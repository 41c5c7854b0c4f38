//! Looks at the events of a lead on their way to where they are shown.

use std::fmt;
use std::sync::Arc;

use swarm_agent::EventSink;
use swarm_protocol::AgentEvent;

/// Passes on the events for which `look` returns true.
struct EventTap<F> {
    inner: Arc<dyn EventSink>,
    look: F,
}

/// Returns a sink that shows each event to `look` and passes it on to `inner` if that returns true.
pub(crate) fn tapped(
    inner: Arc<dyn EventSink>,
    look: impl Fn(&AgentEvent) -> bool + Send + Sync + 'static,
) -> Arc<dyn EventSink> {
    Arc::new(EventTap { inner, look })
}

impl<F: Fn(&AgentEvent) -> bool + Send + Sync> EventSink for EventTap<F> {
    fn emit(&self, event: AgentEvent) {
        if (self.look)(&event) {
            self.inner.emit(event);
        }
    }
}

impl<F> fmt::Debug for EventTap<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EventTap").field(&self.inner).finish()
    }
}
