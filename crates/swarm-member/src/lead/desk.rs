//! The lead's mail: frames are handled by the program, the rest is for the model.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use swarm_engine::{Injected, Interjections};
use swarm_protocol::{
    ControlFrame, IdleNotification, LEAD_NAME, MarkKind, Member, MemberName, MemberState,
    MessageId, ShutdownApproved, TeamName,
};
use swarm_store::StoreError;
use swarm_team::{Incoming, Seat, sort_mail};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::mail;
use crate::reporter::Reporter;
use swarm_supervisor::{Deployment, LeadError};
use swarm_supervisor::{StopOutcome, death, finish};

/// The mail of a lead.
#[derive(Debug)]
pub(super) struct LeadDesk {
    pub(super) deployment: Deployment,
    pub(super) seat: Arc<Seat>,
    pub(super) reporter: Arc<Reporter>,
    /// Members that have agreed to stop and are being taken out of the roster.
    pub(super) partings: TaskTracker,
    /// Notified when one of them has left.
    pub(super) parted: Arc<Notify>,
    /// Whether the lead has read something from a person since this was last looked at.
    pub(super) person_wrote: AtomicBool,
}

impl LeadDesk {
    /// Handles the frames that wait and returns what the model shall read, oldest first and still unread.
    pub(super) fn take(&self) -> Result<Vec<Incoming>, StoreError> {
        let Some(team) = self.seat.team() else {
            return Ok(Vec::new());
        };
        mail::take(&self.seat, &team, |incoming| self.handle(&team, incoming))
    }

    /// Whether a member has written something that the model has still to read.
    pub(super) fn has_unread_report(&self) -> Result<bool, StoreError> {
        let Some(team) = self.seat.team() else {
            return Ok(false);
        };
        let unread = sort_mail(self.seat.store.take_unread(&team, &self.seat.name)?);
        Ok(unread.iter().any(|incoming| match &incoming.frame {
            None => incoming.is_prose(),
            Some(ControlFrame::IdleNotification(frame)) => !is_empty(frame),
            Some(_) => false,
        }))
    }

    /// Whether the program deals with the message, so that no turn is spent on it.
    fn handle(&self, team: &TeamName, incoming: &Incoming) -> bool {
        if is_about_the_lead(incoming) {
            tracing::warn!(%team, id = ?incoming.id(), "a frame of the lead to itself is ignored");
            return true;
        }
        match &incoming.frame {
            Some(ControlFrame::IdleNotification(frame)) => is_empty(frame),
            Some(ControlFrame::PermissionRequest(frame)) => {
                self.reporter.notice(format!(
                    "{} asks for permission: {}. Answer in another terminal with `swarm approve {id}` or `swarm deny {id}`",
                    incoming.entry.from,
                    frame.description,
                    id = frame.request_id.short(),
                ));
                true
            }
            Some(ControlFrame::ShutdownApproved(frame)) => {
                self.part_with(team, frame);
                true
            }
            // The lead waits for the record in the queue, not for its copy by mail.
            Some(ControlFrame::PermissionResponse(_)) => true,
            _ => false,
        }
    }

    /// A member has agreed to stop: once its life lock has fallen, it leaves the roster.
    fn part_with(&self, team: &TeamName, frame: &ShutdownApproved) {
        let Ok(name) = MemberName::teammate(&frame.from) else {
            return;
        };
        self.reporter.notice(format!("{name} shuts down"));
        let (deployment, team) = (self.deployment.clone(), team.clone());
        let parted = Arc::clone(&self.parted);
        self.partings.spawn(async move {
            match part(&deployment, &team, &name).await {
                // Somebody else has seen to it.
                Ok(())
                | Err(LeadError::Store(
                    StoreError::MemberNotFound { .. } | StoreError::TeamNotFound { .. },
                )) => {}
                Err(error) => {
                    tracing::warn!(member = %name, %error, "member that left is still in the roster");
                }
            }
            parted.notify_one();
        });
    }

    /// Whether a member that has agreed to stop is still being taken out of the roster. The lead is told once it has left.
    pub(super) fn is_parting(&self) -> bool {
        !self.partings.is_empty()
    }

    /// The form in which messages go into the transcript; shows them too.
    pub(super) fn inject(&self, messages: &[Incoming]) -> Vec<Injected> {
        for incoming in messages {
            self.seat.emit(incoming.shown(&self.seat.name));
            let mark = incoming.entry.swarm.as_ref();
            if mark.is_some_and(|mark| mark.kind == Some(MarkKind::Person)) {
                self.person_wrote.store(true, Ordering::Relaxed);
            }
        }
        mail::inject(messages)
    }

    /// Enters in the journal that messages are in the durable transcript, and marks them as read.
    pub(super) fn delivered_now(&self, ids: &[MessageId]) -> Result<(), StoreError> {
        let Some(team) = self.seat.team().filter(|_| !ids.is_empty()) else {
            return Ok(());
        };
        self.seat
            .store
            .delivered(&team, &self.seat.name, ids)
            .map(drop)
    }
}

/// Takes a member out of the roster once it has ended, if its last word was that it would. One that crashed on its way
/// out, or whose approval was of an earlier spawn, is left to the reconcile, which tells of its death.
async fn part(
    deployment: &Deployment,
    team: &TeamName,
    name: &MemberName,
) -> Result<(), LeadError> {
    let config = deployment.store.config(team)?;
    let Some(spawn_id) = config.member(name).and_then(Member::spawn_id) else {
        return Ok(());
    };
    if let Ok(fell) = death(deployment, team, name).await {
        fell?;
    }
    let last = deployment.store.state(team, name)?;
    let in_order = last.is_some_and(|report| {
        report.spawn_id == spawn_id
            && matches!(report.state, MemberState::Stopping | MemberState::Stopped)
    });
    if in_order {
        let grace = deployment.kill_grace;
        finish(
            deployment,
            team,
            name,
            spawn_id,
            StopOutcome::Approved,
            grace,
        )
        .await?;
    }
    Ok(())
}

/// A frame in which the lead asks itself to stop, or tells itself that it stops or rests. No program sends one, so
/// somebody has written it into the file, and a model must not take it for an order.
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

#[async_trait]
impl Interjections for LeadDesk {
    async fn between_calls(&self) -> Vec<Injected> {
        match self.take() {
            Ok(messages) => {
                let urgent = messages.into_iter().filter(Incoming::is_urgent_text);
                self.inject(&urgent.collect::<Vec<_>>())
            }
            Err(error) => {
                // The mail stays unread and comes again at the end of the turn.
                tracing::warn!(%error, "urgent mail not read");
                Vec::new()
            }
        }
    }

    async fn delivered(&self, ids: &[MessageId]) {
        if let Err(error) = self.delivered_now(ids) {
            // It is in the transcript, so it is only acknowledged when it comes again.
            tracing::warn!(%error, "urgent mail not acknowledged");
        }
    }
}
