//! Reports of a teammate's turns to the lead, and its state between turns.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use swarm_agent::{Injected, Totals, TurnOutcome, TurnStop};
use swarm_protocol::{
    ControlFrame, IdleNotification, IdleReason, IsoTime, MemberName, MemberState, Task,
};
use swarm_store::{Changes, StoreError};
use swarm_team::MemberContext;

use crate::reporter::{Reporter, TurnMail, failure, show_unanswered, unanswered_detail};
use crate::teammate::task_follow_up::{TaskFollowUp, names};

/// Maximum bytes of a result in an idle notice; the transcript has the rest.
const RESULT_BYTES: usize = 64 * 1024;

/// Time between attempts to send a notice.
const RETRY_WAIT: Duration = Duration::from_secs(2);

/// Reports every turn to the lead, once.
pub(crate) struct TurnReporter {
    context: Arc<MemberContext>,
    reporter: Arc<Reporter>,
    tasks: TaskFollowUp,
    task_changes: Changes,
    /// Notices that are not sent yet: the lead's inbox may be full, or the disk.
    unsent: VecDeque<IdleNotification>,
    /// Tasks that were in progress at the end of the last turn.
    unreported: Vec<Task>,
    /// Results of turns whose sub-agents still work; `None` without such a turn.
    waiting: Option<Vec<String>>,
    /// Why the lead was not notified of the last turn.
    untold: Option<String>,
    /// Failure of the last turn, and the resulting state of the member.
    failure: Option<(MemberState, String)>,
}

impl TurnReporter {
    pub(crate) fn new(
        context: Arc<MemberContext>,
        reporter: Arc<Reporter>,
        tasks: TaskFollowUp,
        task_changes: Changes,
    ) -> Self {
        Self {
            context,
            reporter,
            tasks,
            task_changes,
            unsent: VecDeque::new(),
            unreported: Vec::new(),
            waiting: None,
            untold: None,
            failure: None,
        }
    }

    /// A turn begins, or is resumed.
    pub(crate) async fn turn_begins(&mut self) {
        self.tasks.turn_begins().await;
    }

    /// Keeps the result of a turn until its sub-agents have ended. Returns `false` for a turn that
    /// the model did not finish, which is reported to the lead immediately.
    pub(crate) async fn waits(&mut self, outcome: &TurnOutcome) -> bool {
        if !outcome.is_finished() {
            return false;
        }
        self.failure = None;
        self.tasks.turn_ends(Some(&outcome.text)).await;
        let result = self.notice(outcome).result;
        self.waiting.get_or_insert_default().extend(result);
        true
    }

    /// The end of a turn that was not reported yet.
    pub(crate) fn overdue(&self) -> Option<TurnOutcome> {
        self.waiting.is_some().then(|| TurnOutcome {
            end: Ok(()),
            text: String::new(),
            spent: Totals::default(),
            stop_reason: None,
        })
    }

    /// Reports the kept results when the member stops.
    pub(crate) async fn leaves(&mut self) {
        if let Some(outcome) = self.overdue() {
            self.turn_ends(&outcome, false).await;
        }
        self.send().await;
    }

    fn notice(&self, outcome: &TurnOutcome) -> IdleNotification {
        notice(
            self.context.name.to_string(),
            self.context.clock.now().iso(),
            outcome,
            &self.reporter.turn_mail(),
        )
    }

    /// Reports a finished turn to the lead. Returns a reminder for the model if it has open tasks
    /// and may continue (`goes_on`); those tasks are reported to the lead after the reminder.
    pub(crate) async fn turn_ends(
        &mut self,
        outcome: &TurnOutcome,
        goes_on: bool,
    ) -> Option<Injected> {
        if matches!(outcome.end, Err(TurnStop::Suspended)) {
            return None;
        }
        self.failure = failure(outcome);
        show_unanswered(&self.context, &self.reporter).await;
        let mut notice = self.notice(outcome);
        let mut results = self.waiting.take().unwrap_or_default();
        results.extend(notice.result.take());
        notice.result = (!results.is_empty()).then(|| cut(&results.join("\n\n")));
        let is_finished = outcome.is_finished();
        let text = Some(outcome.text.as_str()).filter(|_| is_finished);
        self.tasks.turn_ends(text).await;
        let open = self.tasks.open().await;
        let reminder = (is_finished && goes_on)
            .then(|| self.tasks.reminder(&open))
            .flatten();
        if reminder.is_none() {
            notice.open_tasks = self.tasks.flag(&open);
        }
        self.unreported = open;
        // Before the model reads the reminder: the lead has its report even if this member dies.
        self.unsent.push_back(notice);
        self.send().await;
        reminder
    }

    /// Sends the pending notices. Failures are retried at every
    /// wakeup, at the latest after [`RETRY_WAIT`].
    pub(crate) async fn send(&mut self) {
        match self.try_send().await {
            Ok(()) => self.untold = None,
            Err(error) => {
                let what = format!("the lead could not be notified yet: {error}");
                if self.untold.as_ref() != Some(&what) {
                    self.reporter.notice(what.as_str());
                    self.untold = Some(what);
                }
            }
        }
    }

    async fn try_send(&mut self) -> Result<(), StoreError> {
        let Some(team) = self.context.team() else {
            return Ok(());
        };
        while let Some(notice) = self.unsent.front() {
            let frame = ControlFrame::IdleNotification(notice.clone());
            let draft = self.context.control(&frame);
            team.send(&MemberName::lead(), draft).await?;
            self.unsent.pop_front();
        }
        Ok(())
    }

    /// Resolves when the state between turns may have changed, or a failed notice is due again.
    pub(crate) async fn changed(&mut self) {
        tokio::select! {
            () = self.task_changes.changed(), if !self.unreported.is_empty() => {}
            () = tokio::time::sleep(RETRY_WAIT), if !self.unsent.is_empty() => {}
            else => pending().await,
        }
    }

    /// Returns the state of a member between turns. Others may have changed its tasks meanwhile.
    pub(crate) async fn idle_state(&mut self) -> (MemberState, Option<String>) {
        if !self.unreported.is_empty() {
            let open = self.tasks.open().await;
            self.unreported
                .retain(|task| open.iter().any(|other| other.id == task.id));
        }
        if let Some((state, why)) = &self.failure {
            return (*state, Some(why.clone()));
        }
        if self.unreported.is_empty() {
            let unanswered = unanswered_detail(&self.context).await;
            return (MemberState::Idle, self.untold.clone().or(unanswered));
        }
        let detail = format!("{} in progress", names(&self.unreported));
        (MemberState::IdleUnreported, Some(detail))
    }
}

/// The idle notice of a turn: its final text, unless the member has just reported by message, and
/// the reason of a `Stop` hook that ended it.
pub(crate) fn notice(
    from: String,
    timestamp: IsoTime,
    outcome: &TurnOutcome,
    mail: &TurnMail,
) -> IdleNotification {
    let text = &outcome.text;
    let (reason, result, failure) = match &outcome.end {
        Ok(()) => {
            let news = !text.trim().is_empty() && !mail.reported_to_lead;
            let hook = outcome.stop_reason.as_ref();
            let hook = hook.map(|why| format!("[A Stop hook ended the turn: {why}]"));
            let parts: Vec<_> = news.then(|| cut(text)).into_iter().chain(hook).collect();
            let result = (!parts.is_empty()).then(|| parts.join("\n\n"));
            (IdleReason::Available, result, None)
        }
        Err(TurnStop::Interrupted | TurnStop::Suspended) => (IdleReason::Interrupted, None, None),
        Err(TurnStop::Halted(_)) => (IdleReason::Interrupted, None, outcome.trouble()),
        Err(TurnStop::Failed(error)) => (IdleReason::Failed, None, Some(error.to_string())),
        Err(TurnStop::Limit) => (IdleReason::Failed, None, Some(cut(text))),
    };
    IdleNotification {
        from,
        timestamp,
        idle_reason: Some(reason),
        result,
        summary: mail.last_to_peer.clone(),
        completed_task_id: None,
        completed_status: None,
        failure_reason: failure,
        open_tasks: Vec::new(),
    }
}

/// Shortens a text to the size of a notice.
fn cut(text: &str) -> String {
    if text.len() <= RESULT_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(RESULT_BYTES);
    format!(
        "{}\n[cut: {} more bytes are in the transcript]",
        &text[..end],
        text.len() - end
    )
}
