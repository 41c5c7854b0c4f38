//! The end of a run that is cut short: one deadline for everything that still runs, and the members
//! stop while the lead's own call does.

use std::sync::Arc;

use swarm_supervisor::{LeadError, TeamStopReport};
use tokio_util::task::AbortOnDropHandle;

use super::LeadParts;
use super::role::LeadRole;
use super::run_end::end_members;
use crate::role::MemberLoop;

/// Members that stop while the lead's turn does; `None` where there was nobody to stop.
pub(super) type EarlyEnd = AbortOnDropHandle<Option<Result<TeamStopReport, LeadError>>>;

impl MemberLoop<LeadRole> {
    /// Starts the deadline as soon as the run is stopped, and stops the members then unless they
    /// outlive the lead.
    pub(super) fn follow_stop(&self) -> EarlyEnd {
        let parts = &self.role.parts;
        let is_left = outlived(parts);
        let (spawn_context, kill) = (parts.spawn_context.clone(), parts.kill.clone());
        let (deadline, stop) = (Arc::clone(&self.role.deadline), self.stop.clone());
        let (context, reporter) = (Arc::clone(self.context()), Arc::clone(&self.reporter));
        AbortOnDropHandle::new(tokio::spawn(async move {
            stop.cancelled().await;
            deadline.begin();
            if is_left() {
                return None;
            }
            let team = context.team()?;
            let tell = |line| reporter.notice(line);
            Some(end_members(&spawn_context, team.name(), &kill, tell).await)
        }))
    }
}

/// Whether members outlive a lead that was stopped: nobody asked for their end, its terminal was
/// closed or its time was up.
pub(super) fn outlived(parts: &LeadParts) -> impl Fn() -> bool + Send + 'static {
    let (stop, hangup, kill) = (parts.stop.clone(), parts.hangup.clone(), parts.kill.clone());
    let remove_team = parts.remove_team;
    move || {
        // A terminal that closes cancels `stop` as well.
        let is_timed_out = !stop.is_cancelled() && !remove_team;
        !kill.is_cancelled() && (hangup.is_cancelled() || is_timed_out)
    }
}
