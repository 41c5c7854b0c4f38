//! The mail of a lead: questions of members are shown to the person, and members that agreed to
//! stop are removed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use swarm_agent::{EventSink as _, Rights, or_never};
use swarm_protocol::{
    AgentEvent, ControlFrame, IdleNotification, LEAD_NAME, MarkKind, MemberName, RequestId,
    RequestRecord, ShutdownApproved,
};
use swarm_store::{StoreError, Team};
use swarm_supervisor::{LeadError, SpawnContext};
use swarm_team::{Incoming, MemberContext, adopt_request, early_plan_wait, sort_mail};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;

use super::open_questions::OpenQuestions;
use crate::granted::GrantedRights;
use crate::mail::{Handling, MailRole};
use crate::reporter::Reporter;

#[derive(Debug)]
pub(super) struct LeadMail {
    spawn_context: SpawnContext,
    granted: GrantedRights,
    is_interactive: bool,
    /// Whether a person at its terminal answers requests of members.
    has_person: bool,
    questions: OpenQuestions,
    /// When a plan that waits for the end of a turn can be answered in any case.
    plan_due: Mutex<Option<Instant>>,
    /// Removals of members that have agreed to stop.
    pub(super) departures: TaskTracker,
    /// Notified when one of them is complete.
    pub(super) departed: Arc<Notify>,
    /// Whether the lead has read something from a person since [`Self::person_wrote`] was called.
    person_wrote: AtomicBool,
}

impl LeadMail {
    pub(super) fn new(
        spawn_context: SpawnContext,
        reporter: Arc<Reporter>,
        rights: Arc<Rights>,
        is_interactive: bool,
        has_person: bool,
    ) -> Self {
        Self {
            granted: GrantedRights::new(rights, spawn_context.spawn_id, reporter),
            spawn_context,
            is_interactive,
            has_person,
            questions: OpenQuestions::default(),
            plan_due: Mutex::default(),
            departures: TaskTracker::new(),
            departed: Arc::default(),
            person_wrote: AtomicBool::default(),
        }
    }

    /// Returns whether the lead has read a message from a person since the last call.
    pub(super) fn person_wrote(&self) -> bool {
        self.person_wrote.swap(false, Ordering::Relaxed)
    }

    /// Keeps a plan unread for at most this time.
    fn await_plan(&self, left: Duration) {
        let due = Instant::now() + left;
        let mut first = self.plan_due.lock();
        *first = Some(first.map_or(due, |first| first.min(due)));
    }

    /// Resolves when a plan that was kept unread can be answered, although the turn that asks has not
    /// ended: its program may have been killed.
    pub(super) async fn plan_is_due(&self) {
        let due = *self.plan_due.lock();
        or_never(due.map(sleep_until)).await;
        *self.plan_due.lock() = None;
    }

    /// Whether a member that has agreed to stop is still being removed from the roster.
    pub(super) fn is_member_leaving(&self) -> bool {
        !self.departures.is_empty()
    }

    /// Waits for the removals in progress.
    pub(super) async fn wait_for_departures(&self) {
        self.departures.close();
        self.departures.wait().await;
    }

    /// Shows a member's request. Without a person at the terminal, the model reads it too and may
    /// answer.
    async fn question(&self, team: &dyn Team, incoming: &Incoming, id: &RequestId) -> Handling {
        let record = match self.record_of(team, incoming, id).await {
            Ok(Some(record)) => record,
            // It was answered or withdrawn meanwhile.
            Ok(None) if is_ours(team, &incoming.entry.from).await => return Handling::Acknowledge,
            // The sender is not in the roster, so it is treated as text.
            Ok(None) => return Handling::Read,
            Err(error) => {
                tracing::warn!(team = %team.name(), request = %id, %error, "cannot process a member's question");
                return Handling::KeepUnread;
            }
        };
        if self.questions.add(&record, !self.has_person) {
            self.granted.reporter.emit(AgentEvent::Asked {
                from: record.from.to_string(),
                line: record.description.clone(),
                id: record.short().into_owned(),
                team: team.name().to_string(),
            });
        }
        if self.has_person {
            Handling::Acknowledge
        } else {
            Handling::Read
        }
    }

    /// The request in the queue that a frame is about. A request of a member of another program is
    /// added now.
    async fn record_of(
        &self,
        team: &dyn Team,
        incoming: &Incoming,
        id: &RequestId,
    ) -> Result<Option<RequestRecord>, StoreError> {
        match team.request(id).await {
            Ok(record) => Ok(
                Some(record).filter(|record| record.from.as_str() == incoming.entry.from.trim())
            ),
            Err(StoreError::RequestNotFound { .. } | StoreError::BadRequestId(_)) => {
                let now = self.spawn_context.clock.now();
                adopt_request(team, incoming, self.granted.rights.mode(), now).await
            }
            Err(error) => Err(error),
        }
    }

    /// Removes a member that has agreed to stop from the roster once its life lock is released.
    fn await_departure(&self, team: &dyn Team, frame: &ShutdownApproved) {
        let Ok(name) = MemberName::teammate(&frame.from) else {
            return;
        };
        let notice = format!("{name} shuts down");
        self.granted.reporter.notice(notice);
        let (spawn_context, team) = (self.spawn_context.clone(), team.name().clone());
        let departed = Arc::clone(&self.departed);
        self.departures.spawn(async move {
            let member = spawn_context.team(&team).member(&name);
            match member.remove_departed().await {
                // The other two mean that another process has already removed it.
                Ok(())
                | Err(LeadError::Store(
                    StoreError::MemberNotFound { .. } | StoreError::TeamNotFound { .. },
                )) => {}
                Err(error) => {
                    tracing::warn!(member = %name, %error, "cannot remove a departed member from the roster");
                }
            }
            departed.notify_one();
        });
    }
}

#[async_trait]
impl MailRole for LeadMail {
    fn takes_prompts(&self) -> bool {
        self.is_interactive
    }

    async fn handling(&self, team: &dyn Team, incoming: &Incoming) -> Handling {
        if is_about_the_lead(incoming) {
            tracing::warn!(team = %team.name(), id = ?incoming.id(), "ignored a frame from the lead to itself");
            return Handling::Acknowledge;
        }
        match &incoming.frame {
            Some(ControlFrame::IdleNotification(frame)) if is_empty(frame) => Handling::Acknowledge,
            Some(ControlFrame::PermissionRequest(frame)) => {
                self.question(team, incoming, &frame.request_id).await
            }
            Some(ControlFrame::PlanApprovalRequest(frame)) => {
                let now = self.spawn_context.clock.now();
                match early_plan_wait(team, incoming, now).await {
                    // The notice at the end of the turn wakes the lead.
                    Ok(Some(left)) => {
                        self.await_plan(left);
                        Handling::KeepUnread
                    }
                    Ok(None) => self.question(team, incoming, &frame.request_id).await,
                    Err(error) => {
                        tracing::warn!(team = %team.name(), %error, "cannot process a member's plan");
                        Handling::KeepUnread
                    }
                }
            }
            Some(ControlFrame::SandboxPermissionRequest(frame)) => {
                self.question(team, incoming, &frame.request_id).await
            }
            Some(ControlFrame::ShutdownApproved(frame)) => {
                self.await_departure(team, frame);
                Handling::Acknowledge
            }
            // The lead waits for the record in the queue, not for its copy by mail, and its
            // permissions cannot be changed by mail.
            Some(
                ControlFrame::PermissionResponse(_)
                | ControlFrame::PlanApprovalResponse(_)
                | ControlFrame::SandboxPermissionResponse(_)
                | ControlFrame::ModeSetRequest(_),
            ) => Handling::Acknowledge,
            Some(frame @ ControlFrame::TeamPermissionUpdate(_)) => {
                let key = team.verify_key().await;
                self.granted.apply(team, frame, key).await
            }
            _ => Handling::Read,
        }
    }

    async fn notes(&self, team: &dyn Team) -> Vec<String> {
        self.questions.news(team).await
    }

    fn reads(&self, incoming: &Incoming) {
        let mark = incoming.entry.swarm.as_ref();
        if mark.is_some_and(|mark| mark.kind == Some(MarkKind::Person)) {
            self.person_wrote.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether swarm runs the member with this name.
async fn is_ours(team: &dyn Team, name: &str) -> bool {
    let (Ok(name), Ok(config)) = (MemberName::parse(name.trim()), team.config().await) else {
        return false;
    };
    config
        .member(&name)
        .is_some_and(|member| member.swarm.is_some())
}

/// Returns whether there is an unread message from a member for the lead's model.
pub(super) async fn has_unread_report(
    context: &MemberContext,
    team: &dyn Team,
) -> Result<bool, StoreError> {
    let unread = sort_mail(team.take_unread(&context.name).await?);
    Ok(unread.iter().any(|incoming| match &incoming.frame {
        None => incoming.is_prose(),
        Some(ControlFrame::IdleNotification(frame)) => !is_empty(frame),
        Some(_) => false,
    }))
}

/// Returns whether the lead appears to ask itself to stop, or to report to itself that it stops or
/// is idle. No program sends such a frame: it was written to the file by hand, and a model must not
/// follow it.
fn is_about_the_lead(incoming: &Incoming) -> bool {
    use ControlFrame::{IdleNotification, ShutdownApproved, ShutdownRejected, ShutdownRequest};
    let kind = matches!(
        &incoming.frame,
        Some(ShutdownRequest(_) | ShutdownApproved(_) | ShutdownRejected(_) | IdleNotification(_))
    );
    kind && incoming.entry.from == LEAD_NAME
}

/// An idle notice without news.
fn is_empty(frame: &IdleNotification) -> bool {
    frame.result.is_none() && frame.failure_reason.is_none() && frame.open_tasks.is_empty()
}
