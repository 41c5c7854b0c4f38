//! Permission questions of a teammate: into the team's queue, and the answer back.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_engine::{Ask, GateAnswer, PermissionGate};
use swarm_fs::{FolderWatcher, NameFilter, Subscription};
use swarm_protocol::{MemberState, TeamName};
use swarm_store::StoreError;
use swarm_team::{
    AskedCall, MemberLimits, PermissionAnswer, Seat, Wake, open_request, wait_for_answer,
};
use tokio_util::sync::CancellationToken;

use crate::teammate::desk::MailDesk;
use crate::teammate::reporter::Reporter;

/// What the model is told of a question that a shutdown request came before.
const WITHDRAWN: &str = "the question was withdrawn, since you are asked to shut down";

/// Asks through the queue.
#[derive(Debug)]
pub(crate) struct QueueGate {
    pub(crate) seat: Arc<Seat>,
    pub(crate) desk: Arc<MailDesk>,
    pub(crate) team: TeamName,
    pub(crate) watcher: Arc<FolderWatcher>,
    pub(crate) reporter: Arc<Reporter>,
    pub(crate) limits: MemberLimits,
}

pub(crate) struct FolderWake {
    pub(crate) inbox: Subscription,
    pub(crate) requests: Subscription,
}

#[async_trait]
impl Wake for FolderWake {
    async fn changed(&mut self) {
        tokio::select! {
            () = self.inbox.changed() => {}
            () = self.requests.changed() => {}
        }
    }
}

impl QueueGate {
    /// Woken by the member's own inbox and by answers, not by the locks that a look at them takes.
    pub(crate) fn wake(&self) -> FolderWake {
        let store = &self.seat.store;
        let inbox = format!("{}.json", self.seat.name).into();
        FolderWake {
            inbox: self.watcher.subscribe(
                &store.inbox_folder(&self.team),
                NameFilter::Exact(vec![inbox]),
            ),
            requests: self.watcher.subscribe(
                &store.requests_folder(&self.team),
                NameFilter::Suffix(".json"),
            ),
        }
    }

    async fn queue(
        &self,
        call: AskedCall,
        cancel: &CancellationToken,
    ) -> Result<PermissionAnswer, StoreError> {
        let mut wake = self.wake();
        let timeout = self.limits.permission_timeout();
        let open = open_request(&self.seat, &self.team, call, timeout)?;
        self.reporter.state(
            MemberState::WaitingPermission,
            Some(format!("{}: {}", open.record.id, open.call.description)),
        );
        let cancel = cancel.child_token();
        let answer = wait_for_answer(&self.seat, &self.team, &open, &mut wake, timeout, &cancel);
        tokio::pin!(answer);
        let withdrawn = tokio::select! {
            answer = &mut answer => return answer,
            () = self.shutdown_asked() => {
                cancel.cancel();
                answer.await?
            }
        };
        Ok(match withdrawn {
            PermissionAnswer::Denied(_) => PermissionAnswer::Denied(WITHDRAWN.to_owned()),
            in_time @ PermissionAnswer::Allowed { .. } => in_time,
        })
    }

    /// Resolves when the member is asked to shut down: whoever asks waits for its answer, and nobody needs to answer it
    /// any more.
    async fn shutdown_asked(&self) {
        let mut inbox = self.wake().inbox;
        loop {
            match self.desk.waiting_shutdown() {
                Ok(Some(_)) => return,
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(member = %self.seat.name, %error, "inbox not read during a question");
                }
            }
            inbox.changed().await;
        }
    }
}

#[async_trait]
impl PermissionGate for QueueGate {
    async fn ask(&self, ask: Ask, cancel: CancellationToken) -> GateAnswer {
        let call = AskedCall {
            tool: ask.tool,
            tool_use_id: ask.tool_use_id,
            input: ask.input,
            description: ask.description,
            suggestions: ask.suggestions,
        };
        let answer = self.queue(call, &cancel).await;
        self.reporter.state(MemberState::Working, None);
        match answer {
            Ok(PermissionAnswer::Allowed {
                updated_input,
                updates,
            }) => GateAnswer::Allow {
                updated_input,
                grants: updates,
            },
            Ok(PermissionAnswer::Denied(why)) => GateAnswer::Deny { why },
            Err(error) => GateAnswer::Deny {
                why: format!("the question could not be asked: {error}"),
            },
        }
    }
}
