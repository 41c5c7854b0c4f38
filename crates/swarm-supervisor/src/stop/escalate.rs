//! Termination of unresponsive members: SIGTERM to all their processes, then SIGKILL. Members whose
//! processes cannot be found from here.

use std::time::Duration;

use swarm_os::Liveness;
use swarm_os::process::pid_space;
use swarm_protocol::{LifeKind, LifeRecord, Member, MemberName, MemberState, SpawnId, TeamName};
use swarm_store::process::is_running;
use swarm_store::{BlockOn as _, LeaseEnd, StoreError, Team};

use super::StopOutcome;
use super::pane::close_pane;
use crate::process_list::end_member;
use crate::{LeadError, SpawnContext};

/// Returns a future that resolves when the member's lease is released.
pub fn member_death(spawn_context: &SpawnContext, team: &TeamName, name: &MemberName) -> LeaseEnd {
    spawn_context.store.team(team).lease_end(name)
}

/// Returns whether a member runs. A member that is not in the roster any more has stopped: several
/// processes may remove the same one, so a name that was read before can be gone.
pub(crate) fn member_liveness(team: &dyn Team, name: &MemberName) -> Result<Liveness, StoreError> {
    match team.liveness(name).block_on() {
        Err(StoreError::MemberNotFound { .. }) => Ok(Liveness::Dead),
        found => found,
    }
}

/// How long a member that announced its exit, or whose process is gone, may still hold its life lock.
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
        ends_within(spawn_context, team, name, LAST_MOMENT).await;
    }
    Ok(())
}

/// Waits until the lease of a member is released, and returns whether that was in time.
async fn ends_within(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
    limit: Duration,
) -> bool {
    let ended = tokio::time::timeout(limit, member_death(spawn_context, team, name)).await;
    let in_time = matches!(ended, Ok(Ok(Ok(()))));
    tracing::debug!(%team, member = %name, in_time, "waited for its lock");
    in_time
}

/// How long a task may take to stop.
const TASK_END: Duration = Duration::from_secs(5);

async fn is_task(team: &dyn Team, name: &MemberName) -> bool {
    let record = team.life_record(name).await;
    record.is_some_and(|record| record.kind == LifeKind::Task)
}

/// Stops a member that is a task of its lead's process: no signal is sent, because it would reach
/// the lead.
async fn end_task(
    spawn_context: &SpawnContext,
    team: &TeamName,
    member: &Member,
    spawn_id: SpawnId,
) {
    if let Err(error) = close_pane(spawn_context, member, spawn_id).await {
        tracing::warn!(%team, member = %member.name, %error, "task not stopped");
    }
    ends_within(spawn_context, team, &member.name, TASK_END).await;
}

/// Ends the lease of a dead process: a hub would notice its death only when the lease is not renewed.
async fn end_lease_of_dead(
    team: &dyn Team,
    name: &MemberName,
    spawn_id: SpawnId,
) -> Result<(), StoreError> {
    let record = team.life_record(name).await;
    let is_dead = record.is_some_and(|record| {
        record.spawn_id == spawn_id
            && record.pid_space == pid_space()
            && is_running(record.pid, &record.proc_start) == Some(false)
    });
    if is_dead {
        team.end_lease(name, &spawn_id).await?;
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
    let member = config.member(name);
    let member = member.filter(|member| member.spawn_id() == Some(spawn_id));
    if let Some(member) = member
        && is_task(&*files, name).await
    {
        end_task(spawn_context, team, member, spawn_id).await;
    }
    if member.is_some() && member_liveness(&*files, name)? == Liveness::Alive {
        end_lease_of_dead(&*files, name, spawn_id).await?;
    }
    if member.is_some() && member_liveness(&*files, name)? == Liveness::Alive {
        let member = name.clone();
        if let Some(host) = runs_elsewhere(&*files, name, &spawn_context.process.host).await {
            return Err(LeadError::Elsewhere { member, host });
        }
        // The main thread of a killed process can be gone before those that still hold its files.
        if !ends_within(spawn_context, team, name, LAST_MOMENT).await {
            return Err(LeadError::StillAlive { member, left: 1 });
        }
    }
    Ok(if terminated.killed > 0 {
        StopOutcome::Killed
    } else {
        StopOutcome::Terminated
    })
}

/// Returns where a member runs, if its process cannot be found from here: on another machine, or with
/// another config directory.
pub async fn runs_elsewhere(team: &dyn Team, name: &MemberName, this_host: &str) -> Option<String> {
    let there = team.life_record(name).await?;
    started_elsewhere(team, name, &there, this_host).await
}

/// Returns where a process of a member was started, if that is not here.
pub async fn started_elsewhere(
    team: &dyn Team,
    name: &MemberName,
    there: &LifeRecord,
    this_host: &str,
) -> Option<String> {
    if !there.host.is_empty() && there.host != this_host {
        return Some(there.host.clone());
    }
    let here = team.life_record_here(name).await;
    let is_here = here.is_some_and(|here| here.spawn_id == there.spawn_id);
    (!is_here).then(|| format!("{} with another config directory", there.host))
}

/// The last process of a member that was not started from here.
pub(super) struct RemoteProcess {
    /// Where it was started.
    host: String,
    /// Whether it has parked and still exists.
    is_parked: bool,
}

impl RemoteProcess {
    /// Returns where the process is, if it has parked. It ends when its member leaves the roster.
    pub(super) fn parked_on(self) -> Option<String> {
        self.is_parked.then_some(self.host)
    }
}

/// Returns the last process of a spawn, if it was started on another machine or with another config
/// directory. Its worktree is there: a path of the same name here is another one.
pub(super) async fn remote_process(
    team: &dyn Team,
    name: &MemberName,
    spawn_id: SpawnId,
    this_host: &str,
) -> Option<RemoteProcess> {
    if !team.is_remote() || team.life_record(name).await?.spawn_id != spawn_id {
        return None;
    }
    let host = runs_elsewhere(team, name, this_host).await?;
    let members = team.member_view().await.unwrap_or_default();
    let is_parked = members
        .iter()
        .any(|view| view.member.name == *name && view.parked_on.is_some());
    Some(RemoteProcess { host, is_parked })
}
