//! The mail of a teammate: shutdown requests wait for the program's answer.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use swarm_agent::Rights;
use swarm_os::LockInterrupt;
use swarm_protocol::{ControlFrame, ShutdownRequest, SpawnId, UnixMs};
use swarm_store::Team;
use swarm_team::{Incoming, MemberContext, PendingShutdown};

use crate::granted::GrantedRights;
use crate::mail::{Handling, MailRole};
use crate::reporter::Reporter;

#[derive(Debug, Default)]
pub(crate) struct TeammateMail {
    /// The open shutdown request, shared with the `SendMessage` tool.
    pub(crate) shutdown: Arc<PendingShutdown>,
    /// This spawn, and when it was added to the roster by the clock of its spawner.
    joined: OnceLock<(SpawnId, UnixMs)>,
    /// Permissions that the lead may change.
    granted: OnceLock<(GrantedRights, Arc<MemberContext>)>,
    /// Shortens waits for locks of other programs once the member is stopped by force.
    locks: LockInterrupt,
}

impl TeammateMail {
    pub(crate) fn new(locks: &LockInterrupt) -> Self {
        Self {
            locks: locks.clone(),
            ..Self::default()
        }
    }

    /// The member is stopped by force: nobody waits for its last messages.
    pub(crate) fn hurry(&self) {
        self.locks.hurry();
    }

    /// Lets frames of the lead change the permissions of this spawn. Only the first call has an
    /// effect.
    pub(crate) fn may_change(
        &self,
        rights: &Arc<Rights>,
        context: &Arc<MemberContext>,
        reporter: &Arc<Reporter>,
    ) {
        self.granted.get_or_init(|| {
            let (rights, reporter) = (Arc::clone(rights), Arc::clone(reporter));
            let granted = GrantedRights::new(rights, context.spawn_id, reporter);
            (granted, Arc::clone(context))
        });
    }

    /// Sets when this spawn was added to the roster. Only the first call has an effect.
    pub(crate) fn joined(&self, spawn_id: SpawnId, at: UnixMs) {
        self.joined.get_or_init(|| (spawn_id, at));
    }

    /// Returns whether a request was meant for an earlier spawn of the name.
    fn is_stale(&self, request: &ShutdownRequest, incoming: &Incoming) -> bool {
        let Some((own, joined_at)) = self.joined.get() else {
            return false;
        };
        if let Some(asked) = request.spawn_id {
            return asked != *own;
        }
        // Another program has written it, on this machine, so the times are of one clock.
        let written = incoming.entry.timestamp.unix_ms();
        written.is_some_and(|written| written < *joined_at)
    }
}

#[async_trait]
impl MailRole for TeammateMail {
    async fn handling(&self, team: &dyn Team, incoming: &Incoming) -> Handling {
        match &incoming.frame {
            Some(ControlFrame::ShutdownRequest(request)) => {
                if self.is_stale(request, incoming) || self.shutdown.is_refused(&request.request_id)
                {
                    return Handling::Acknowledge;
                }
                self.shutdown.enter(request.clone());
                if request.force {
                    self.hurry();
                    Handling::KeepUnread
                } else {
                    Handling::Read
                }
            }
            Some(
                frame @ (ControlFrame::ModeSetRequest(_) | ControlFrame::TeamPermissionUpdate(_)),
            ) => {
                let Some((granted, context)) = self.granted.get() else {
                    return Handling::Acknowledge;
                };
                granted.apply(team, frame, context.key_of(team).await).await
            }
            // The member waits for the record in the queue, not for its copy by mail. An interrupt is
            // about the turn that has ended.
            Some(
                ControlFrame::InterruptRequest(_)
                | ControlFrame::PermissionResponse(_)
                | ControlFrame::PlanApprovalResponse(_)
                | ControlFrame::SandboxPermissionResponse(_),
            ) => Handling::Acknowledge,
            _ => Handling::Read,
        }
    }

    fn shutdown(&self) -> Option<&PendingShutdown> {
        Some(&self.shutdown)
    }
}
