//! The lead's mail: frames are handled by the program, the rest is for the model.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_engine::{Injected, Interjections};
use swarm_protocol::{Event, IdleNotification, MemberName, MessageId, ShutdownApproved, TeamName};
use swarm_store::StoreError;
use swarm_team::{Incoming, Seat, sort_mail};
use tokio_util::task::TaskTracker;

use super::reporter::Reporter;
use crate::Deployment;
use crate::stop::{StopOutcome, finish};

/// The mail of a lead.
#[derive(Debug)]
pub(super) struct LeadDesk {
    pub(super) deployment: Deployment,
    pub(super) seat: Arc<Seat>,
    pub(super) reporter: Arc<Reporter>,
    /// Members that have agreed to stop and are being taken out of the roster.
    pub(super) partings: TaskTracker,
}

impl LeadDesk {
    /// Handles the frames that wait and returns what the model shall read, oldest first and still unread.
    pub(super) fn take(&self) -> Result<Vec<Incoming>, StoreError> {
        let Some(team) = self.seat.team() else {
            return Ok(Vec::new());
        };
        let mut messages = Vec::new();
        let mut handled = Vec::new();
        for incoming in sort_mail(self.seat.store.take_unread(&team, &self.seat.name)?) {
            if self.handle(&team, &incoming) {
                handled.extend(incoming.id().cloned());
            } else {
                messages.push(incoming);
            }
        }
        if !handled.is_empty() {
            self.seat.store.ack(&team, &self.seat.name, &handled)?;
        }
        Ok(messages)
    }

    /// Whether the program deals with the message, so that no turn is spent on it.
    fn handle(&self, team: &TeamName, incoming: &Incoming) -> bool {
        match incoming {
            Incoming::Idle(_, frame) => is_empty(frame),
            Incoming::PermissionRequest(entry, frame) => {
                self.reporter.notice(format!(
                    "{} asks for permission: {}. Answer with `swarm approve {id}` or `swarm deny {id}`",
                    entry.from,
                    frame.description,
                    id = frame.request_id,
                ));
                true
            }
            Incoming::ShutdownApproved(_, frame) => {
                self.part_with(team, frame);
                true
            }
            // The lead waits for the record in the queue, not for its copy by mail.
            Incoming::PermissionResponse(..) => true,
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
        self.partings.spawn(async move {
            let spawn_id = match deployment.store.config(&team) {
                Ok(config) => config
                    .member(&name)
                    .and_then(swarm_protocol::Member::spawn_id),
                Err(_) => None,
            };
            let Some(spawn_id) = spawn_id else { return };
            let path = deployment.store.life_path(&team, &name);
            let waited = tokio::task::spawn_blocking(move || swarm_fs::wait_for_death(&path)).await;
            if let Ok(Err(error)) = waited {
                tracing::warn!(member = %name, %error, "end of a member not seen");
            }
            let done = finish(&deployment, &team, &name, spawn_id, &StopOutcome::Approved).await;
            if let Err(error) = done {
                tracing::warn!(member = %name, %error, "member that left is still in the roster");
            }
        });
    }

    /// The form in which messages go into the transcript; shows them too.
    pub(super) fn inject(&self, messages: &[Incoming]) -> Vec<Injected> {
        let show = |incoming: &Incoming| {
            self.seat.emit(incoming.shown());
            Injected {
                text: incoming.render(),
                message_ids: incoming.id().cloned().into_iter().collect(),
            }
        };
        messages.iter().map(show).collect()
    }

    /// Marks messages as read once they are in the durable transcript.
    pub(super) fn delivered_now(&self, ids: &[MessageId]) -> Result<(), StoreError> {
        let Some(team) = self.seat.team().filter(|_| !ids.is_empty()) else {
            return Ok(());
        };
        for msg_id in self.seat.store.ack(&team, &self.seat.name, ids)? {
            let event = Event::Delivered {
                msg_id,
                to: self.seat.name.clone(),
            };
            self.seat.store.journal(&team, event)?;
        }
        Ok(())
    }
}

/// An idle notice without news.
fn is_empty(frame: &IdleNotification) -> bool {
    frame.result.is_none() && frame.failure_reason.is_none()
}

#[async_trait]
impl Interjections for LeadDesk {
    async fn between_calls(&self) -> Vec<Injected> {
        match self.take() {
            Ok(messages) => {
                let urgent = |incoming: &Incoming| match incoming {
                    Incoming::Prose(entry) | Incoming::System(entry) => entry.is_urgent(),
                    _ => false,
                };
                self.inject(&messages.into_iter().filter(urgent).collect::<Vec<_>>())
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
