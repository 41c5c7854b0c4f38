//! Where a member's events go: to whoever watches, into its state report, and into the team's journal.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use swarm_engine::EventSink;
use swarm_protocol::{AgentEvent, Clock, MemberName, MemberState, TeamName, Usage};
use swarm_store::TeamStore;
use swarm_team::{StateKeeper, enter_sub_agent};

use crate::turn_mail::TurnMail;

/// What a reporter is made of.
pub(crate) struct ReporterParts {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) name: MemberName,
    /// The present team: a lead may have none yet.
    pub(crate) team: Box<dyn Fn() -> Option<TeamName> + Send + Sync>,
    pub(crate) store: Arc<dyn TeamStore>,
    pub(crate) keeper: StateKeeper,
    /// Who watches: a pane, or the terminal of a run.
    pub(crate) view: Arc<dyn EventSink>,
}

/// Shows events and keeps the member's state report true.
pub(crate) struct Reporter {
    parts: ReporterParts,
    sums: Mutex<Sums>,
}

/// What events add up to.
#[derive(Debug, Default)]
struct Sums {
    mail: TurnMail,
    of_sub_agents: Usage,
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter")
            .field("name", &self.parts.name)
            .field("keeper", &self.parts.keeper)
            .finish_non_exhaustive()
    }
}

impl Reporter {
    pub(crate) fn new(parts: ReporterParts) -> Self {
        Self {
            parts,
            sums: Mutex::default(),
        }
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        // Each event is added at once.
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports a state and shows it.
    pub(crate) fn state(&self, state: MemberState, detail: Option<String>) {
        self.emit(AgentEvent::State { state, detail });
    }

    /// The same, but others see it only once [`Self::catch_up`] is called, or with the next thing there is to see.
    pub(crate) fn state_later(&self, state: MemberState, detail: Option<String>) {
        let event = AgentEvent::State { state, detail };
        self.show(&event);
        self.parts
            .keeper
            .follow_later(&event, self.parts.clock.now());
    }

    /// Lets others see what they do not see yet.
    pub(crate) fn catch_up(&self) {
        if let Some(team) = (self.parts.team)() {
            self.parts.keeper.catch_up(&team);
        }
    }

    fn show(&self, event: &AgentEvent) {
        let mut sums = self.sums();
        sums.mail.follow(event);
        if let AgentEvent::SubAgentEnded { usage, .. } = event {
            sums.of_sub_agents += *usage;
        }
        drop(sums);
        self.parts.view.emit(event.clone());
    }

    /// Adds something to the state as it is, for others to see.
    pub(crate) fn detail(&self, detail: String) {
        let state = self.parts.keeper.report().state;
        self.state(state, Some(detail));
    }

    /// Shows a line.
    pub(crate) fn notice(&self, line: impl Into<String>) {
        self.emit(AgentEvent::Notice { line: line.into() });
    }

    /// What was sent in the present turn.
    pub(crate) fn turn_mail(&self) -> TurnMail {
        self.sums().mail.clone()
    }

    /// Tokens that sub-agents have used.
    pub(crate) fn of_sub_agents(&self) -> Usage {
        self.sums().of_sub_agents
    }
}

impl EventSink for Reporter {
    fn emit(&self, event: AgentEvent) {
        self.show(&event);
        let team = (self.parts.team)();
        if let Some(team) = &team {
            enter_sub_agent(&*self.parts.store, team, &self.parts.name, &event);
        }
        self.parts
            .keeper
            .follow(&event, team.as_ref(), self.parts.clock.now());
    }
}
