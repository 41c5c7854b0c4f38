//! Immediate termination of a member.

use std::time::Duration;

use swarm_os::Liveness;
use swarm_protocol::{Event, Member, MemberName, PERSON, RequestId, SpawnId, TeamName, UnixMs};
use swarm_store::Team;

use super::cancel_spawn::cancel_spawn;
use super::escalate::{end_processes, runs_elsewhere};
use super::shutdown::{shutdown, spawn_of};
use super::{StopOptions, StopOutcome, StopReport, dead_namesake, finish, member_liveness};
use crate::{LeadError, SpawnContext};

/// Terminates a member's processes immediately.
///
/// # Errors
/// [`LeadError`]: unknown member, a member of another program or machine, or processes that could
/// not be terminated.
pub async fn kill(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
) -> Result<StopReport, LeadError> {
    let spawn_id = spawn_of(spawn_context, team, name)?;
    let files = spawn_context.store.team(team);
    if member_liveness(&*files, name)? == Liveness::Alive {
        if let Some(host) = runs_elsewhere(&*files, name, &spawn_context.process.host).await {
            let member = name.clone();
            return Err(LeadError::Elsewhere { member, host });
        }
        announce(&*files, name, spawn_context.clock.now()).await;
    }
    kill_spawn(spawn_context, team, name, spawn_id).await
}

/// Records that a person stops a member, before the signal: otherwise a process that notices the end
/// first reports an unexpected one. A member is also killed if that cannot be recorded.
async fn announce(team: &dyn Team, name: &MemberName, now: UnixMs) {
    let event = Event::ShutdownRequested {
        member: name.clone(),
        request: RequestId::shutdown(now.0, name),
        by: PERSON.to_owned(),
        reason: Some("killed".to_owned()),
    };
    if let Err(error) = team.journal(event).await {
        tracing::warn!(team = %team.name(), member = %name, %error, "not recorded that a member is killed");
    }
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
