//! What follows silence: SIGTERM to everything the member started, then SIGKILL.

use std::time::Duration;

use swarm_os::{Liveness, OsError};
use swarm_protocol::{Member, MemberName, MemberState, SpawnId, TeamName};

use super::StopOutcome;
use crate::process_list::end_member;
use crate::{LeadError, SpawnContext};

/// A future that resolves when the member's life lock falls.
pub fn member_death(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
) -> tokio::sync::oneshot::Receiver<Result<(), OsError>> {
    swarm_os::death(spawn_context.store.team(team).life_path(name))
}

/// How long a member that has said that it ends may still hold its life lock.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// Waits a moment for the end of a member whose last word was that it ends: its lock falls right after. Anybody else is
/// not waited for.
///
/// # Errors
/// Whatever the store says.
pub async fn await_reported_end(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
) -> Result<(), LeadError> {
    let store = &spawn_context.store;
    let config = store.team(team).config()?;
    let Some(spawn_id) = config.member(name).and_then(Member::spawn_id) else {
        return Ok(());
    };
    let last = store.team(team).state(name)?;
    let is_over = last.is_some_and(|last| {
        last.spawn_id == spawn_id && matches!(last.state, MemberState::Dead | MemberState::Stopped)
    });
    if is_over && store.team(team).liveness(name)? == Liveness::Alive {
        let waited =
            tokio::time::timeout(LAST_MOMENT, member_death(spawn_context, team, name)).await;
        tracing::debug!(%team, member = %name, in_time = waited.is_ok(), "waited for its lock");
    }
    Ok(())
}

/// Ends a member's processes: `grace` after SIGTERM comes SIGKILL.
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
    let config = spawn_context.store.team(team).config()?;
    let is_its_name = config.member(name).and_then(Member::spawn_id) == Some(spawn_id);
    if is_its_name && spawn_context.store.team(team).liveness(name)? == Liveness::Alive {
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
