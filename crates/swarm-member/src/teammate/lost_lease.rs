//! A teammate that has lost its lease: other processes count it as dead, and the store refuses its
//! changes.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use swarm_protocol::MemberState;
use swarm_store::Team;
use swarm_team::MemberContext;

use crate::role::MemberLoop;
use crate::teammate::Ending;
use crate::teammate::lead_watch::LeadWatch;
use crate::teammate::role::{TeammateRole, is_in, roster};

/// How long its sub-agents and background commands may take to stop.
const ENDING: Duration = Duration::from_secs(10);

impl MemberLoop<TeammateRole> {
    /// Parks until the member is removed, or spawned again, or asked to stop. Its conversation and
    /// worktree are kept for the next spawn; what it has started is stopped, because its tasks may
    /// already have other owners.
    pub(super) async fn park_without_lease(&mut self) -> Ending {
        self.sub_agents.shut_down(ENDING).await;
        let detail = format!(
            "its lease was lost, so it counts as dead; `swarm spawn {} --team {}` continues its conversation",
            self.context().name,
            self.role.team.name()
        );
        self.reporter
            .state(MemberState::Parked, Some(detail.clone()));
        self.role.lead.watch_for_change();
        let context = Arc::clone(self.context());
        let role = &mut self.role;
        // The hub may not answer for a long time, and the person at the pane gets an answer meanwhile.
        let mut removed = pin!(until_removed(&*role.team, &context, &mut role.lead));
        loop {
            tokio::select! {
                () = &mut removed => return Ending::Removed,
                _ = self.person.next() => self.reporter.notice(format!("parked: {detail}")),
                () = self.stop.cancelled() => return Ending::Terminated,
            }
        }
    }
}

/// Resolves when this spawn is not the member of its name any more.
async fn until_removed(team: &dyn Team, context: &MemberContext, changes: &mut LeadWatch) {
    while let Ok(roster) = roster(team, context).await
        && is_in(context, roster.as_ref())
    {
        changes.changed().await;
    }
}
