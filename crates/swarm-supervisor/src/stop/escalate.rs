//! Termination of unresponsive members: SIGTERM to all their processes, then SIGKILL.

use std::time::Duration;

use swarm_os::Liveness;
use swarm_protocol::{Member, MemberName, MemberState, SpawnId, TeamName};
use swarm_store::{BlockOn as _, LeaseEnd, StoreError, Team};

use super::StopOutcome;
use crate::process_list::end_member;
use crate::{LeadError, SpawnContext};

/// Returns a future that resolves when the member's lease is released.
pub fn member_death(spawn_context: &SpawnContext, team: &TeamName, name: &MemberName) -> LeaseEnd {
    spawn_context.store.team(team).lease_end(name)
}

/// Returns whether a member runs. A member that is not in the roster any more has stopped: several processes may remove
/// the same one, so a name that was read before can be gone.
pub(crate) fn member_liveness(team: &dyn Team, name: &MemberName) -> Result<Liveness, StoreError> {
    match team.liveness(name).block_on() {
        Err(StoreError::MemberNotFound { .. }) => Ok(Liveness::Dead),
        found => found,
    }
}

/// How long a member that announced its exit may still hold its life lock.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// Waits briefly for the exit of a member whose last state announces it. Does not wait for other
/// members.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn await_reported_end(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
) -> Result<(), LeadError> {
    let files = spawn_context.store.team(team);
    let config = files.config().await?;
    let Some(spawn_id) = config.member(name).and_then(Member::spawn_id) else {
        return Ok(());
    };
    let last = files.state(name).await?;
    let is_over = last.is_some_and(|last| {
        last.spawn_id == spawn_id && matches!(last.state, MemberState::Dead | MemberState::Stopped)
    });
    if is_over && member_liveness(&*files, name)? == Liveness::Alive {
        let waited =
            tokio::time::timeout(LAST_MOMENT, member_death(spawn_context, team, name)).await;
        tracing::debug!(%team, member = %name, in_time = waited.is_ok(), "waited for its lock");
    }
    Ok(())
}

/// Terminates a member's processes: SIGTERM, then after `grace` SIGKILL.
pub(super) async fn end_processes(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
    spawn_id: SpawnId,
    grace: Duration,
) -> Result<StopOutcome, LeadError> {
    let terminated = end_member(spawn_context, team, name, spawn_id, grace).await;
    if terminated.left > 0 {
        return Err(LeadError::StillAlive {
            member: name.clone(),
            left: terminated.left,
        });
    }
    let files = spawn_context.store.team(team);
    let config = files.config().await?;
    let is_its_name = config.member(name).and_then(Member::spawn_id) == Some(spawn_id);
    if is_its_name && member_liveness(&*files, name)? == Liveness::Alive {
        return Err(LeadError::StillAlive {
            member: name.clone(),
            left: 1,
        });
    }
    Ok(if terminated.killed > 0 {
        StopOutcome::Killed
    } else {
        StopOutcome::Terminated
    })
}
