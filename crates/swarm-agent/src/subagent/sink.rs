//! Events of a sub-agent, on their way to whoever watches the process.

use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::{AgentEvent, SubAgentId};
use tokio::time::Instant;

use crate::EventSink;

/// Passes events on in the sub-agent's name, and knows when the model last said something.
#[derive(Debug)]
pub(super) struct ChildSink {
    root: Arc<dyn EventSink>,
    id: SubAgentId,
    pulse: Mutex<Pulse>,
}

#[derive(Debug)]
struct Pulse {
    last: Instant,
    /// Calls under way: their tools have time limits of their own.
    calls: usize,
}

impl ChildSink {
    pub(super) fn new(root: Arc<dyn EventSink>, id: SubAgentId) -> Self {
        Self {
            root,
            id,
            pulse: Mutex::new(Pulse {
                last: Instant::now(),
                calls: 0,
            }),
        }
    }

    /// Until the returned value is dropped it is not the model that is silent.
    pub(super) fn wait(&self) -> Wait<'_> {
        self.pulse.lock().calls += 1;
        Wait(self)
    }

    /// Since when nothing has come from the model, where something should.
    pub(super) fn silent_since(&self) -> Option<Instant> {
        let pulse = self.pulse.lock();
        (pulse.calls == 0).then_some(pulse.last)
    }
}

/// A wait for something else than the model.
pub(super) struct Wait<'a>(&'a ChildSink);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let mut pulse = self.0.pulse.lock();
        pulse.calls = pulse.calls.saturating_sub(1);
        pulse.last = Instant::now();
    }
}

impl EventSink for ChildSink {
    fn emit(&self, event: AgentEvent) {
        let mut pulse = self.pulse.lock();
        pulse.last = Instant::now();
        match &event {
            AgentEvent::ToolStarted { .. } => pulse.calls += 1,
            AgentEvent::ToolFinished { .. } => pulse.calls = pulse.calls.saturating_sub(1),
            AgentEvent::TurnStarted => pulse.calls = 0,
            _ => {}
        }
        drop(pulse);
        self.root.emit(AgentEvent::SubAgentEvent {
            id: self.id.clone(),
            event: Box::new(event),
        });
    }
}
