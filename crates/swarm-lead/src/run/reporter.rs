//! Where the lead's events go: to whoever watches, and into the lead's state report.

use std::sync::Arc;

use swarm_engine::EventSink;
use swarm_protocol::{AgentEvent, Clock, MemberState};
use swarm_team::StateKeeper;

use crate::Leadership;

#[derive(Debug)]
pub(super) struct Reporter {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) keeper: StateKeeper,
    pub(super) leadership: Arc<Leadership>,
    pub(super) watcher: Arc<dyn EventSink>,
}

impl Reporter {
    pub(super) fn state(&self, state: MemberState, detail: Option<String>) {
        self.emit(AgentEvent::State { state, detail });
    }

    pub(super) fn notice(&self, line: impl Into<String>) {
        self.emit(AgentEvent::Notice { line: line.into() });
    }
}

impl EventSink for Reporter {
    fn emit(&self, event: AgentEvent) {
        self.keeper
            .follow(&event, self.leadership.team().as_ref(), self.clock.now());
        self.watcher.emit(event);
    }
}
