//! Keeps a member's state report in line with what its agent does.

use std::mem;
use std::sync::Arc;
use std::thread;

use futures::FutureExt as _;
use parking_lot::{Condvar, Mutex, MutexGuard};
use swarm_protocol::{AgentEvent, MemberName, MemberState, SpawnId, StateReport, UnixMs};
use swarm_store::{BlockOn as _, Team};

/// The state report of one member, written when it changes in a way that others can see. If the store
/// does not complete a write immediately, a thread does it, so that a slow store does not delay the
/// member. Reports that were not written yet are replaced by newer ones.
#[derive(Debug, Clone)]
pub struct StateKeeper(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    name: MemberName,
    kept: Mutex<Kept>,
    written: Condvar,
}

#[derive(Debug)]
struct Kept {
    report: StateReport,
    /// The written report is older.
    is_ahead: bool,
    /// Where the report is written.
    wanted: Option<Arc<dyn Team>>,
    /// Whether a thread is writing what is wanted.
    is_writing: bool,
}

impl StateKeeper {
    /// Creates a keeper for a starting spawn of a member.
    pub fn new(name: MemberName, spawn_id: SpawnId, now: UnixMs) -> Self {
        let report = StateReport::new(spawn_id, MemberState::Starting, now);
        Self(Arc::new(Shared {
            name,
            kept: Mutex::new(Kept {
                report,
                is_ahead: false,
                wanted: None,
                is_writing: false,
            }),
            written: Condvar::new(),
        }))
    }

    /// Returns the current report.
    pub fn report(&self) -> StateReport {
        self.0.kept.lock().report.clone()
    }

    /// Follows an event. Begins to write the report to `team` if it has visibly changed.
    pub fn follow(&self, event: &AgentEvent, team: Option<&Arc<dyn Team>>, now: UnixMs) {
        let mut kept = self.0.kept.lock();
        let has_changed = follow(&mut kept.report, event, now);
        let Some(team) = team.filter(|_| has_changed) else {
            return;
        };
        if kept.want(team) {
            drop(kept);
            self.begin(team);
        }
    }

    /// Follows an event without writing the report, which [`Self::catch_up`] does.
    pub fn follow_later(&self, event: &AgentEvent, now: UnixMs) {
        let mut kept = self.0.kept.lock();
        let has_changed = follow(&mut kept.report, event, now);
        kept.is_ahead |= has_changed;
    }

    /// Writes the report if it has changed. Returns once it is written.
    pub fn catch_up(&self, team: &Arc<dyn Team>) {
        let mut kept = self.0.kept.lock();
        if kept.is_ahead && kept.want(team) {
            drop(kept);
            Arc::clone(&self.0).write().block_on();
        } else {
            self.0.wait(&mut kept);
        }
    }

    /// Returns once everything that was begun is written.
    pub fn finish(&self) {
        self.0.wait(&mut self.0.kept.lock());
    }

    fn begin(&self, team: &Arc<dyn Team>) {
        let mut writing = Box::pin(Arc::clone(&self.0).write());
        // A write to files is complete after one poll, in a tenth of the time that a thread takes. A
        // write to a hub is not polled here: it would depend on the caller's runtime, whose thread may
        // wait for it.
        if !team.is_remote() && writing.as_mut().now_or_never().is_some() {
            return;
        }
        let thread = thread::Builder::new().name("writes state".to_owned());
        if let Err(error) = thread.spawn(move || writing.block_on()) {
            tracing::debug!(%error, "cannot start a thread for a state report; writing on the caller's thread");
            Arc::clone(&self.0).write().block_on();
        }
    }
}

impl Kept {
    /// Returns whether the caller has to write it.
    fn want(&mut self, team: &Arc<dyn Team>) -> bool {
        self.wanted = Some(Arc::clone(team));
        !mem::replace(&mut self.is_writing, true)
    }
}

impl Shared {
    /// Writes the report until nothing newer is wanted.
    async fn write(self: Arc<Self>) {
        while let Some((team, report)) = self.next() {
            if let Err(error) = team.write_state(&self.name, &report).await {
                // A failed write only leaves a stale state; liveness and mail do not depend on it.
                tracing::warn!(team = %team.name(), member = %self.name, %error, "state report not written");
            }
        }
    }

    fn next(&self) -> Option<(Arc<dyn Team>, StateReport)> {
        let mut kept = self.kept.lock();
        let Some(team) = kept.wanted.take() else {
            kept.is_writing = false;
            self.written.notify_all();
            return None;
        };
        kept.is_ahead = false;
        Some((team, kept.report.clone()))
    }

    fn wait(&self, kept: &mut MutexGuard<'_, Kept>) {
        self.written.wait_while(kept, |kept| kept.is_writing);
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
            report.fallback = None;
            true
        }
        AgentEvent::FallbackUsed { model } => {
            report.fallback = Some(model.clone());
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
