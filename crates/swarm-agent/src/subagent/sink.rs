//! Forwards the events of a sub-agent to the process's sink.

use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::{AgentEvent, MemberState, SubAgentId};
use tokio::time::Instant;

use crate::EventSink;

/// Forwards events with the sub-agent's id and records when the model last produced one.
#[derive(Debug)]
pub(super) struct ChildSink {
    root: Arc<dyn EventSink>,
    id: SubAgentId,
    activity: Mutex<Activity>,
}

#[derive(Debug)]
struct Activity {
    last: Instant,
    /// Running calls and other waits; these have their own time limits.
    calls: usize,
    /// Whether its request is held until a budget is raised.
    is_held: bool,
}

impl ChildSink {
    pub(super) fn new(root: Arc<dyn EventSink>, id: SubAgentId) -> Self {
        Self {
            root,
            id,
            activity: Mutex::new(Activity {
                last: Instant::now(),
                calls: 0,
                is_held: false,
            }),
        }
    }

    /// Marks a wait for something other than the model until the returned guard is dropped.
    pub(super) fn wait(&self) -> Wait<'_> {
        self.activity.lock().calls += 1;
        Wait(self)
    }

    /// Returns when the model last produced an event; `None` while something else is awaited.
    pub(super) fn silent_since(&self) -> Option<Instant> {
        let activity = self.activity.lock();
        (activity.calls == 0 && !activity.is_held).then_some(activity.last)
    }
}

/// Guard of a wait for something other than the model.
pub(super) struct Wait<'a>(&'a ChildSink);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let mut activity = self.0.activity.lock();
        activity.calls = activity.calls.saturating_sub(1);
        activity.last = Instant::now();
    }
}

impl EventSink for ChildSink {
    fn emit(&self, event: AgentEvent) {
        let mut activity = self.activity.lock();
        activity.last = Instant::now();
        if let AgentEvent::State { state, .. } = &event {
            activity.is_held = *state == MemberState::OverBudget;
        }
        match &event {
            AgentEvent::ToolStarted { .. } => activity.calls += 1,
            AgentEvent::ToolFinished { .. } => activity.calls = activity.calls.saturating_sub(1),
            AgentEvent::TurnStarted => activity.calls = 0,
            _ => {}
        }
        drop(activity);
        self.root.emit(AgentEvent::SubAgentEvent {
            id: self.id.clone(),
            event: Box::new(event),
        });
    }
}
