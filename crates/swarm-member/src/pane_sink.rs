//! Events drawn as a pane.

use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use swarm_engine::EventSink;
use swarm_protocol::AgentEvent;
use swarm_ui::PaneView;

/// Draws a member's events.
pub struct PaneSink(Mutex<PaneView<Box<dyn Write + Send>>>);

impl fmt::Debug for PaneSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PaneSink")
    }
}

impl PaneSink {
    /// Draws into this pane.
    pub fn new(view: PaneView<Box<dyn Write + Send>>) -> Self {
        Self(Mutex::new(view))
    }
}

impl EventSink for PaneSink {
    fn emit(&self, event: AgentEvent) {
        // A panic while drawing leaves at worst a half-drawn line.
        let mut view = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        view.event(&event);
    }
}
