//! What the lead is told of a member's turns, and what the member shows of itself between them.

use std::sync::Arc;

use swarm_engine::{Injected, Totals, TurnOutcome};
use swarm_protocol::{IdleNotification, MemberState, Task};
use swarm_team::Seat;

use crate::reporter::Reporter;
use crate::teammate::duty::{Duty, names};
use crate::teammate::idle;
use crate::teammate::outbox::Outbox;

/// Tells the lead of every turn, once.
pub(crate) struct Debrief {
    seat: Arc<Seat>,
    reporter: Arc<Reporter>,
    duty: Duty,
    outbox: Outbox,
    /// Tasks that were in progress at the end of the last turn.
    unreported: Vec<Task>,
    /// Reports of turns whose sub-agents are still at work; absent where there was no such turn.
    waiting: Option<Vec<String>>,
    /// Why the lead does not know of the last turn.
    untold: Option<String>,
    /// Why the last turn failed.
    failure: Option<String>,
}

impl Debrief {
    pub(crate) fn new(
        seat: Arc<Seat>,
        reporter: Arc<Reporter>,
        duty: Duty,
        outbox: Outbox,
    ) -> Self {
        Self {
            seat,
            reporter,
            duty,
            outbox,
            unreported: Vec::new(),
            waiting: None,
            untold: None,
            failure: None,
        }
    }

    /// A turn begins, or is taken up again.
    pub(crate) fn turn_begins(&mut self) {
        self.duty.turn_begins();
    }

    /// Keeps the report of a turn until its sub-agents have ended; false where the turn did not come to its end by itself,
    /// of which the lead hears at once.
    pub(crate) fn waits(&mut self, outcome: &TurnOutcome) -> bool {
        if !matches!(outcome, TurnOutcome::Finished { .. }) {
            return false;
        }
        self.failure = None;
        self.duty.turn_ends(Some(outcome.text()));
        let report = self.notice(outcome).result;
        self.waiting.get_or_insert_default().extend(report);
        true
    }

    /// The end of a turn that the lead was not told of.
    pub(crate) fn overdue(&self) -> Option<TurnOutcome> {
        self.waiting.is_some().then(|| TurnOutcome::Finished {
            text: String::new(),
            spent: Totals::default(),
        })
    }

    /// The member ends: what the lead was to hear later it hears now.
    pub(crate) fn leaves(&mut self) {
        if let Some(outcome) = self.overdue() {
            self.turn_ends(&outcome, false);
        }
        self.send();
    }

    fn notice(&self, outcome: &TurnOutcome) -> IdleNotification {
        idle::notice(
            self.seat.name.to_string(),
            self.seat.clock.now().iso(),
            outcome,
            &self.reporter.turn_mail(),
        )
    }

    /// Tells the lead of a turn that is over. Gives what the model is to be reminded of, where it may go on (`goes_on`)
    /// and has open tasks; the lead is told of these once the model has been reminded of them.
    pub(crate) fn turn_ends(&mut self, outcome: &TurnOutcome, goes_on: bool) -> Option<Injected> {
        if matches!(outcome, TurnOutcome::Suspended { .. }) {
            return None;
        }
        self.failure = failure(outcome);
        let mut notice = self.notice(outcome);
        let mut reports = self.waiting.take().unwrap_or_default();
        reports.extend(notice.result.take());
        notice.result = (!reports.is_empty()).then(|| idle::cut(&reports.join("\n\n")));
        let is_finished = matches!(outcome, TurnOutcome::Finished { .. });
        self.duty.turn_ends(is_finished.then(|| outcome.text()));
        let open = self.duty.open();
        let reminder = (is_finished && goes_on)
            .then(|| self.duty.reminder(&open))
            .flatten();
        if reminder.is_none() {
            notice.open_tasks = self.duty.flag(&open);
        }
        self.unreported = open;
        // Before the reminder is heard: whatever ends this member meanwhile, its report is with the lead.
        self.outbox.put(notice);
        self.send();
        reminder
    }

    /// Sends what the lead is to be told; what does not get through is tried again at every wake-up.
    pub(crate) fn send(&mut self) {
        match self.outbox.send() {
            Ok(()) => self.untold = None,
            Err(error) => {
                let what = format!("the lead could not be told yet: {error}");
                if self.untold.as_ref() != Some(&what) {
                    self.reporter.notice(what.as_str());
                    self.untold = Some(what);
                }
            }
        }
    }

    /// What a member without a turn says of itself. Somebody else may have seen to its tasks meanwhile.
    pub(crate) fn at_rest(&mut self) -> (MemberState, Option<String>) {
        if !self.unreported.is_empty() {
            let open = self.duty.open();
            self.unreported
                .retain(|task| open.iter().any(|other| other.id == task.id));
        }
        if let Some(why) = &self.failure {
            return (MemberState::Failed, Some(why.clone()));
        }
        if self.unreported.is_empty() {
            return (MemberState::Idle, self.untold.clone());
        }
        let detail = format!("{} in progress", names(&self.unreported));
        (MemberState::IdleUnreported, Some(detail))
    }
}

/// Why a turn failed, in one line.
fn failure(outcome: &TurnOutcome) -> Option<String> {
    let TurnOutcome::Failed { error, .. } = outcome else {
        return None;
    };
    error.to_string().lines().next().map(str::to_owned)
}
