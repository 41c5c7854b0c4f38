//! Where a session says what it does.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use swarm_protocol::AgentEvent;

/// Takes the events of an agent: a pane, a log, a stream of JSON.
pub trait EventSink: Send + Sync + fmt::Debug {
    /// Takes one event. Called from the turn loop and from tool tasks, so it must not block.
    fn emit(&self, event: AgentEvent);
}

/// A sink for agents that nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&self, _event: AgentEvent) {}
}

/// Passes events on and counts them as steps, so that a supervisor can tell a slow agent from one that hangs.
#[derive(Debug)]
pub struct StepCounter {
    inner: Arc<dyn EventSink>,
    steps: AtomicU64,
}

impl StepCounter {
    /// Counts what goes to `inner`.
    pub fn new(inner: Arc<dyn EventSink>) -> Self {
        Self {
            inner,
            steps: AtomicU64::new(0),
        }
    }

    /// Events so far.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }
}

impl EventSink for StepCounter {
    fn emit(&self, event: AgentEvent) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.inner.emit(event);
    }
}
