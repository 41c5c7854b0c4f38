//! Keeps a member's state report in line with what its agent does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use swarm_protocol::{
    AgentEvent, MemberName, MemberState, SpawnId, StateReport, TeamName, UnixMs, Usage,
};
use swarm_store::TeamStore;

/// The state report of one member, written when it changes in a way that others can see.
#[derive(Debug)]
pub struct StateKeeper {
    store: Arc<dyn TeamStore>,
    name: MemberName,
    report: Mutex<StateReport>,
}

impl StateKeeper {
    /// A keeper for one spawn of a member, which is starting.
    pub fn new(
        store: Arc<dyn TeamStore>,
        name: MemberName,
        spawn_id: SpawnId,
        now: UnixMs,
    ) -> Self {
        let report = StateReport {
            spawn_id,
            state: MemberState::Starting,
            since: now,
            detail: None,
            task: None,
            turns: 0,
            progress: 0,
            usage: Usage::default(),
        };
        Self {
            store,
            name,
            report: Mutex::new(report),
        }
    }

    fn lock(&self) -> MutexGuard<'_, StateReport> {
        // Fields are set one by one and each is sound by itself.
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The report as it stands.
    pub fn report(&self) -> StateReport {
        self.lock().clone()
    }

    /// Follows an event. Writes the report into the files of `team` when there is something new to see.
    pub fn follow(&self, event: &AgentEvent, team: Option<&TeamName>, now: UnixMs) {
        let mut report = self.lock();
        report.progress += 1;
        let seen = match event {
            AgentEvent::State { state, detail } => {
                let changed = report.state != *state || report.detail != *detail;
                if changed {
                    // A call that ended within a turn is no new beginning of the turn.
                    if report.state != *state || *state != MemberState::Working {
                        report.since = now;
                    }
                    report.state = *state;
                    report.detail.clone_from(detail);
                }
                changed
            }
            AgentEvent::TurnEnded { usage, .. } => {
                report.turns += 1;
                report.usage += *usage;
                true
            }
            AgentEvent::SubAgentEnded { usage, .. } => {
                report.usage += *usage;
                true
            }
            AgentEvent::ToolStarted { line, .. } if report.state == MemberState::Working => {
                report.detail = Some(line.clone());
                true
            }
            AgentEvent::ToolFinished { .. } => {
                if report.state == MemberState::Working {
                    report.detail = None;
                }
                true
            }
            _ => false,
        };
        if seen && let Some(team) = team {
            self.write(team, &report);
        }
    }

    fn write(&self, team: &TeamName, report: &StateReport) {
        if let Err(error) = self.store.write_state(team, &self.name, report) {
            // A state that cannot be written is stale at worst; neither life nor mail rests on it.
            tracing::warn!(%team, member = %self.name, %error, "state report not written");
        }
    }
}
