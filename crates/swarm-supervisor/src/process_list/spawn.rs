//! Termination of spawns.

use std::collections::HashSet;
use std::time::Duration;

use swarm_os::process::{self, Ended};
use swarm_protocol::{MemberName, SpawnId, TeamName};
use swarm_store::StoreError;
use swarm_team::{processes_of_members, processes_of_spawn, processes_of_spawns};

use crate::SpawnContext;

/// Terminates a member of this config directory and all its child processes: SIGTERM, then after
/// `grace` SIGKILL.
pub(crate) async fn end_member(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
    spawn: SpawnId,
    grace: Duration,
) -> Ended {
    let target = processes_of_members(&spawn_context.store.team(team), [(name, spawn)]);
    process::end(target, grace).await
}

/// Terminates several spawns of a team and all their child processes.
pub(crate) async fn end_spawns(
    spawn_context: &SpawnContext,
    team: &TeamName,
    spawns: &HashSet<SpawnId>,
) -> Result<Ended, StoreError> {
    let team = spawn_context.store.team(team);
    let target = processes_of_spawns(&team, spawns.iter().copied())?;
    Ok(process::end(target, spawn_context.kill_grace).await)
}

/// Terminates the child processes of a lead in this config directory.
pub async fn end_marked(spawn_context: &SpawnContext, spawn: SpawnId, grace: Duration) -> Ended {
    process::end(processes_of_spawn(&spawn_context.root, spawn), grace).await
}
