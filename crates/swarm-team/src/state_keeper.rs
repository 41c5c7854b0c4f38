//! Keeps a member's state report in line with what its agent does.

use parking_lot::Mutex;
use swarm_protocol::{AgentEvent, MemberName, MemberState, SpawnId, StateReport, UnixMs, Usage};
use swarm_store::{BlockOn as _, Team};

/// The state report of one member, written when it changes in a way that others can see.
#[derive(Debug)]
pub struct StateKeeper {
    name: MemberName,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    report: StateReport,
    /// The written report is older.
    is_ahead: bool,
}

impl StateKeeper {
    /// Creates a keeper for a starting spawn of a member.
    pub fn new(name: MemberName, spawn_id: SpawnId, now: UnixMs) -> Self {
        let report = StateReport {
            spawn_id,
            state: MemberState::Starting,
            since: now,
            detail: None,
            task: None,
            turns: 0,
            progress: 0,
            usage: Usage::default(),
            context: None,
            commands: Vec::new(),
        };
        Self {
            name,
            kept: Mutex::new(Kept {
                report,
                is_ahead: false,
            }),
        }
    }

    /// Returns the current report.
    pub fn report(&self) -> StateReport {
        self.kept.lock().report.clone()
    }

    /// Follows an event. Writes the report to the files of `team` if it has visibly changed.
    pub fn follow(&self, event: &AgentEvent, team: Option<&dyn Team>, now: UnixMs) {
        let mut kept = self.kept.lock();
        if follow(&mut kept.report, event, now)
            && let Some(team) = team
        {
            self.write(team, &mut kept);
        }
    }

    /// Follows an event without writing the report, which [`Self::catch_up`] does.
    pub fn follow_later(&self, event: &AgentEvent, now: UnixMs) {
        let mut kept = self.kept.lock();
        kept.is_ahead |= follow(&mut kept.report, event, now);
    }

    /// Writes the report if it has changed.
    pub fn catch_up(&self, team: &dyn Team) {
        let mut kept = self.kept.lock();
        if kept.is_ahead {
            self.write(team, &mut kept);
        }
    }

    fn write(&self, team: &dyn Team, kept: &mut Kept) {
        kept.is_ahead = false;
        let report = &kept.report;
        if let Err(error) = team.write_state(&self.name, report).block_on() {
            // A failed write only leaves a stale state; liveness and mail do not depend on it.
            tracing::warn!(team = %team.name(), member = %self.name, %error, "state report not written");
        }
    }
}

/// Updates a report from an event. Returns whether it has visibly changed.
fn follow(report: &mut StateReport, event: &AgentEvent, now: UnixMs) -> bool {
    report.progress += 1;
    match event {
        AgentEvent::State { state, detail } => {
            let changed = report.state != *state || report.detail != *detail;
            if changed {
                // The end of a call within a turn does not restart the turn.
                if report.state != *state || *state != MemberState::Working {
                    report.since = now;
                }
                report.state = *state;
                report.detail.clone_from(detail);
            }
            changed
        }
        // It is written with the next change, at the latest at the end of the turn.
        AgentEvent::Context(used) => {
            report.context = Some(*used);
            false
        }
        AgentEvent::Commands { running } => {
            let changed = report.commands != *running;
            report.commands.clone_from(running);
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
    }
}
