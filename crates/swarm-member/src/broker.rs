//! Permission requests of a member: added to the team's queue, and answered from it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use swarm_agent::{PermissionGate, Withdrawal};
use swarm_os::DirectoryWatcher;
use swarm_permissions::{PermissionOutcome, PermissionRequest};
use swarm_protocol::{MemberState, PLAN_TOOL, RequestRecord, RequestState};
use swarm_store::{StoreError, Team, Topic};
use swarm_team::{MemberContext, open_request, wait_for_answer};

use crate::either_change::EitherChange;
use crate::mail::MailHandler;
use crate::reporter::Reporter;

/// Why a request is withdrawn because of a shutdown request.
const SHUTDOWN_ASKED: &str = "the requester was asked to shut down";

#[derive(Debug)]
pub(crate) struct PermissionBroker {
    /// The member's mail. A shutdown request in it withdraws the permission request.
    pub(crate) mail: Arc<MailHandler>,
    pub(crate) watcher: Arc<DirectoryWatcher>,
    pub(crate) reporter: Arc<Reporter>,
    /// Timeout of a request; `None` waits indefinitely.
    pub(crate) timeout: Option<Duration>,
}

impl PermissionBroker {
    /// Wakes on changes of the member's inbox and of requests, but not on the locks taken to read
    /// them.
    pub(crate) fn wake(&self, team: &dyn Team) -> EitherChange {
        EitherChange::watch(team, &self.watcher, [self.inbox(), Topic::Requests])
    }

    fn inbox(&self) -> Topic {
        Topic::Mail(self.mail.context.name.clone())
    }

    async fn queue(
        &self,
        team: &dyn Team,
        request: PermissionRequest,
        withdrawal: &Withdrawal,
    ) -> Result<PermissionOutcome, StoreError> {
        let mut wake = self.wake(team);
        let open = open_request(&self.mail.context, team, request, self.timeout).await?;
        // If the lead was lost meanwhile, the member shows that until its call has ended.
        if !is_ending(self.reporter.current_state()) {
            let (waiting, detail) = waiting_for(&open.record);
            self.reporter.state(waiting, Some(detail));
        }
        let (name, what) = (&self.mail.context.name, &open.request.description);
        let message = format!("{name} needs your permission: {what}");
        self.mail
            .context
            .hooks()
            .notify("permission_prompt", message);
        let withdrawn = async {
            tokio::select! {
                why = withdrawal.requested() => why,
                () = self.shutdown_asked(team) => SHUTDOWN_ASKED,
            }
        };
        let context = &self.mail.context;
        wait_for_answer(context, team, &open, &mut wake, self.timeout, withdrawn).await
    }

    /// Resolves when the member is asked to shut down, after which the request needs no answer.
    async fn shutdown_asked(&self, team: &dyn Team) {
        if self.mail.shutdown().is_none() {
            return std::future::pending().await;
        }
        let mut inbox = team.watch(&self.watcher, &self.inbox());
        loop {
            match self.mail.waiting_shutdown().await {
                Ok(Some(_)) => return,
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(member = %self.mail.context.name, %error, "inbox not read during a question");
                }
            }
            inbox.changed().await;
        }
    }
}

/// Returns the state of a member that waits for the answer to this request, with its detail.
fn waiting_for(record: &RequestRecord) -> (MemberState, String) {
    let state = match record.request.tool() {
        PLAN_TOOL => MemberState::WaitingPlan,
        _ => MemberState::WaitingPermission,
    };
    (state, format!("{}: {}", record.short(), record.description))
}

/// Returns the state of a member with an open request, with its detail. `None` if it has none or
/// the queue cannot be read.
pub(crate) async fn waiting_state(context: &MemberContext) -> Option<(MemberState, String)> {
    let team = context.team()?;
    let queue = team.requests().await.ok()?;
    let open = queue.requests.iter().find(|record| {
        record.state == RequestState::Open && record.spawn_id == Some(context.spawn_id)
    });
    open.map(waiting_for)
}

fn is_waiting(state: MemberState) -> bool {
    use MemberState::{WaitingPermission, WaitingPlan};
    matches!(state, WaitingPermission | WaitingPlan)
}

fn is_ending(state: MemberState) -> bool {
    matches!(state, MemberState::Parked | MemberState::Stopping)
}

#[async_trait]
impl PermissionGate for PermissionBroker {
    async fn ask(&self, request: PermissionRequest, withdrawal: Withdrawal) -> PermissionOutcome {
        let not_asked = |error: &dyn std::fmt::Display| {
            PermissionOutcome::unanswered(format!("the permission request failed: {error}"))
        };
        let team = match self.mail.context.team_or_found() {
            Ok(team) => team,
            Err(error) => return not_asked(&error),
        };
        let before = self.reporter.current_state();
        let outcome = self.queue(&*team, request, &withdrawal).await;
        // A question of a background command may end after the turn, and while another one waits.
        if is_waiting(self.reporter.current_state()) && !is_waiting(before) {
            self.reporter.state(before, None);
        }
        outcome.unwrap_or_else(|error| not_asked(&error))
    }
}
