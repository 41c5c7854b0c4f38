//! Where the lead's events go: to whoever watches, and into the lead's state report.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use swarm_engine::EventSink;
use swarm_protocol::{AgentEvent, Clock, MemberName, MemberState, Usage};
use swarm_store::TeamStore;
use swarm_team::{StateKeeper, enter_sub_agent};

use swarm_supervisor::Leadership;

#[derive(Debug)]
pub(super) struct Reporter {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) keeper: StateKeeper,
    pub(super) leadership: Arc<Leadership>,
    pub(super) watcher: Arc<dyn EventSink>,
    pub(super) store: Arc<dyn TeamStore>,
    /// Tokens of the lead's sub-agents.
    pub(super) of_sub_agents: Mutex<Usage>,
}

impl Reporter {
    pub(super) fn state(&self, state: MemberState, detail: Option<String>) {
        self.emit(AgentEvent::State { state, detail });
    }

    /// Tokens that the lead's sub-agents have used.
    pub(super) fn of_sub_agents(&self) -> MutexGuard<'_, Usage> {
        // Sums only.
        self.of_sub_agents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn notice(&self, line: impl Into<String>) {
        self.emit(AgentEvent::Notice { line: line.into() });
    }
}

impl EventSink for Reporter {
    fn emit(&self, event: AgentEvent) {
        if let AgentEvent::SubAgentEnded { usage, .. } = &event {
            *self.of_sub_agents() += *usage;
        }
        if let Some(team) = self.leadership.team() {
            enter_sub_agent(&*self.store, &team, &MemberName::lead(), &event);
        }
        self.keeper
            .follow(&event, self.leadership.team().as_ref(), self.clock.now());
        self.watcher.emit(event);
    }
}
