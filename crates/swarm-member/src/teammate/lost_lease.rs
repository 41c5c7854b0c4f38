//! A teammate that has lost its lease: other processes count it as dead, and the store refuses its
//! changes.

use std::time::Duration;

use swarm_protocol::MemberState;

use crate::role::MemberLoop;
use crate::teammate::Ending;
use crate::teammate::role::TeammateRole;

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
        while !self.stop.is_cancelled() {
            match self.roster().await {
                Ok(roster) if self.is_in(roster.as_ref()) => {}
                Ok(_) | Err(_) => return Ending::Removed,
            }
            tokio::select! {
                () = self.role.lead.changed() => {}
                _ = self.person.next() => self.reporter.notice(format!("parked: {detail}")),
                () = self.stop.cancelled() => {}
            }
        }
        Ending::Terminated
    }
}
