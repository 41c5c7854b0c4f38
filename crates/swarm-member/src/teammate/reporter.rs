//! Where a teammate's events go: into the pane, and into its state report.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use swarm_engine::EventSink;
use swarm_protocol::{AgentEvent, AgentId, Clock, MemberName, MemberState, TeamName};
use swarm_store::TeamStore;
use swarm_team::{StateKeeper, enter_sub_agent};
use swarm_ui::PaneView;

use crate::teammate::idle::TurnMail;

/// Draws events and keeps the member's state report true.
pub(crate) struct Reporter {
    clock: Arc<dyn Clock>,
    team: TeamName,
    name: MemberName,
    store: Arc<dyn TeamStore>,
    keeper: StateKeeper,
    inner: Mutex<Inner>,
}

struct Inner {
    view: PaneView<Box<dyn Write + Send>>,
    mail: TurnMail,
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter")
            .field("keeper", &self.keeper)
            .finish_non_exhaustive()
    }
}

impl Reporter {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        member: AgentId,
        store: Arc<dyn TeamStore>,
        keeper: StateKeeper,
        view: PaneView<Box<dyn Write + Send>>,
    ) -> Self {
        Self {
            clock,
            team: member.team,
            name: member.name,
            store,
            keeper,
            inner: Mutex::new(Inner {
                view,
                mail: TurnMail::default(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while drawing leaves at worst a half-drawn line.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports a state and shows it.
    pub(crate) fn state(&self, state: MemberState, detail: Option<String>) {
        self.emit(AgentEvent::State { state, detail });
    }

    /// The same, but others see it only once somebody calls [`Self::catch_up`], or with the next thing there is to see.
    pub(crate) fn state_later(&self, state: MemberState, detail: Option<String>) {
        let event = AgentEvent::State { state, detail };
        self.show(&event);
        self.keeper.follow_later(&event, self.clock.now());
    }

    /// Lets others see what they do not see yet.
    pub(crate) fn catch_up(&self) {
        self.keeper.catch_up(&self.team);
    }

    fn show(&self, event: &AgentEvent) {
        let mut inner = self.lock();
        inner.mail.follow(event);
        inner.view.event(event);
    }

    /// Adds something to the state as it is, for others to see.
    pub(crate) fn detail(&self, detail: String) {
        let state = self.keeper.report().state;
        self.state(state, Some(detail));
    }

    /// Shows a line.
    pub(crate) fn notice(&self, line: impl Into<String>) {
        self.emit(AgentEvent::Notice { line: line.into() });
    }

    /// What was sent in the present turn.
    pub(crate) fn turn_mail(&self) -> TurnMail {
        self.lock().mail.clone()
    }
}

impl EventSink for Reporter {
    fn emit(&self, event: AgentEvent) {
        self.show(&event);
        enter_sub_agent(&*self.store, &self.team, &self.name, &event);
        self.keeper
            .follow(&event, Some(&self.team), self.clock.now());
    }
}
