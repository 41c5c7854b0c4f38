//! Stopping a run early: one deadline for all running work; members stop in parallel with the
//! lead's call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use swarm_os::LockInterrupt;
use swarm_store::TeamStore;
use swarm_supervisor::{LeadError, TeamStopReport};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::LeadParts;
use super::end_deadline::LONGEST;
use super::role::LeadRole;
use super::run_end::end_members;
use crate::role::MemberLoop;

/// Members that stop in parallel with the lead's turn; `None` if there were none.
pub(super) type EarlyEnd = AbortOnDropHandle<Option<Result<TeamStopReport, LeadError>>>;

impl MemberLoop<LeadRole> {
    /// Starts the deadline when the run is stopped, and then stops the members unless they outlive
    /// the lead.
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

/// How long a lead that is killed still waits for locks: enough for those in normal use.
const KILLED: Duration = Duration::from_millis(100);

/// Limits the lead's waits for locks once it is stopped, because another program may hold one: the
/// loop, whose store is returned, no longer waits, and the end of the run waits until the deadline,
/// or shortly if it is killed. The team's next program records what could not be written.
pub(super) fn limit_lock_waits(
    parts: &mut LeadParts,
    stop: CancellationToken,
) -> Arc<dyn TeamStore> {
    let (of_loop, of_end) = (LockInterrupt::default(), LockInterrupt::default());
    let store = &mut parts.spawn_context.store;
    let loop_store = store.with_lock_interrupt(&of_loop);
    *store = store.with_lock_interrupt(&of_end);
    let kill = parts.kill.clone();
    // On the caller's threads, because the thread of the loop may be waiting for a lock.
    tokio::spawn(async move {
        stop.cancelled().await;
        of_loop.interrupt();
        of_end.interrupt_at(Instant::now() + LONGEST);
        kill.cancelled().await;
        of_end.interrupt_at(Instant::now() + KILLED);
    });
    loop_store
}

/// Returns whether members outlive a stopped lead: its terminal was closed or it reached its time
/// limit, and stopping them was not requested.
pub(super) fn outlived(parts: &LeadParts) -> impl Fn() -> bool + Send + 'static {
    let (stop, hangup, kill) = (parts.stop.clone(), parts.hangup.clone(), parts.kill.clone());
    let remove_team = parts.remove_team;
    move || {
        // A terminal that closes cancels `stop` as well.
        let is_timed_out = !stop.is_cancelled() && !remove_team;
        !kill.is_cancelled() && (hangup.is_cancelled() || is_timed_out)
    }
}
