//! Permission questions of the lead itself: nobody sits at its terminal, so they go into the team's queue.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_engine::{Ask, GateAnswer, PermissionGate};
use swarm_fs::{FolderWatcher, NameFilter, Subscription};
use swarm_protocol::{MemberState, TeamName};
use swarm_store::StoreError;
use swarm_team::{AskedCall, PermissionAnswer, Seat, Wake, open_request, wait_for_answer};
use tokio_util::sync::CancellationToken;

use super::reporter::Reporter;

#[derive(Debug)]
pub(super) struct LeadGate {
    pub(super) seat: Arc<Seat>,
    pub(super) watcher: Arc<FolderWatcher>,
    pub(super) reporter: Arc<Reporter>,
    pub(super) timeout: std::time::Duration,
}

struct FolderWake(Subscription);

#[async_trait]
impl Wake for FolderWake {
    async fn changed(&mut self) {
        self.0.changed().await;
    }
}

impl LeadGate {
    async fn queue(
        &self,
        team: &TeamName,
        call: AskedCall,
        cancel: &CancellationToken,
    ) -> Result<PermissionAnswer, StoreError> {
        let folder = self.seat.store.requests_folder(team);
        let mut wake = FolderWake(self.watcher.subscribe(&folder, NameFilter::Suffix(".json")));
        let open = open_request(&self.seat, team, call, self.timeout)?;
        self.reporter.state(
            MemberState::WaitingPermission,
            Some(format!("{}: {}", open.record.id, open.call.description)),
        );
        wait_for_answer(&self.seat, team, &open, &mut wake, self.timeout, cancel).await
    }
}

#[async_trait]
impl PermissionGate for LeadGate {
    async fn ask(&self, ask: Ask, cancel: CancellationToken) -> GateAnswer {
        let team = match self.seat.team_or_found() {
            Ok(team) => team,
            Err(error) => {
                return GateAnswer::Deny {
                    why: format!("the question could not be asked: {error}"),
                };
            }
        };
        let call = AskedCall {
            tool: ask.tool,
            tool_use_id: ask.tool_use_id,
            input: ask.input,
            description: ask.description,
            suggestions: ask.suggestions,
        };
        let answer = self.queue(&team, call, &cancel).await;
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
