//! Immediate termination of a member.

use std::time::Duration;

use swarm_os::Liveness;
use swarm_protocol::{Member, MemberName, PERSON, SpawnId, TeamName};

use super::cancel_spawn::cancel_spawn;
use super::escalate::end_processes;
use super::shutdown::{shutdown, spawn_of};
use super::{StopOptions, StopOutcome, StopReport, dead_namesake, finish, member_liveness};
use crate::{LeadError, SpawnContext};

/// Terminates a member's processes immediately.
///
/// # Errors
/// [`LeadError`]: unknown member, a member of another program, or processes that could not be
/// terminated.
pub async fn kill(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
) -> Result<StopReport, LeadError> {
    let spawn_id = spawn_of(spawn_context, team, name)?;
    kill_spawn(spawn_context, team, name, spawn_id).await
}

/// Terminates one spawn of a name; a later spawn is not affected.
pub(crate) async fn kill_spawn(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
    spawn_id: SpawnId,
) -> Result<StopReport, LeadError> {
    let mut report = StopReport::new(name.clone(), StopOutcome::Killed);
    if cancel_spawn(spawn_context, team, spawn_id, Duration::ZERO, &mut report).await? {
        if report.processes_left > 0 {
            return Err(LeadError::StillAlive {
                member: name.clone(),
                left: report.processes_left,
            });
        }
        return Ok(report);
    }
    let dead = dead_namesake(spawn_context, team, name)?;
    let outcome = match dead.and_then(|dead| dead.spawn_id()) {
        Some(dead) if dead == spawn_id => StopOutcome::AlreadyGone,
        _ => StopOutcome::Killed,
    };
    end_processes(spawn_context, team, name, spawn_id, Duration::ZERO).await?;
    finish(spawn_context, team, name, spawn_id, outcome, Duration::ZERO).await
}

/// Prepares a new spawn of a name: stops a running member without asking its agent, because a
/// refusal would not count. Returns the former roster entry. The entry of a dead member stays for
/// the new spawn, which takes it over or restores it on failure.
pub(crate) async fn end_live_namesake(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
) -> Result<Option<Member>, LeadError> {
    let store = &spawn_context.store;
    let Some(member) = store.team(team).config().await?.member(name).cloned() else {
        return Ok(None);
    };
    let spawning = member
        .swarm
        .as_ref()
        .is_some_and(|swarm| swarm.reservation.is_some());
    if !spawning && member_liveness(&*store.team(team), name)? == Liveness::Dead {
        return Ok(None);
    }
    // Only a person replaces a member.
    let options = StopOptions::now(Some("a new process replaces you".to_owned()), PERSON);
    shutdown(spawn_context, team, name, &options).await?;
    Ok(Some(member))
}
