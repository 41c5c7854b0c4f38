//! Termination of spawns.

use std::collections::HashSet;
use std::time::Duration;

use swarm_os::process::{self, Ended};
use swarm_protocol::SpawnId;
use swarm_store::StoreError;
use swarm_team::{processes_of_members, processes_of_spawn, processes_of_spawns};

use crate::{SpawnContext, SupervisedMember, SupervisedTeam};

impl SupervisedMember<'_> {
    /// Terminates a member of this config directory and all its child processes: SIGTERM, then after
    /// `grace` SIGKILL.
    pub(crate) async fn end_marked(self, spawn: SpawnId, grace: Duration) -> Ended {
        let target = processes_of_members(&self.files(), [(self.name, spawn)]);
        process::end(target, grace).await
    }
}

impl SupervisedTeam<'_> {
    /// Terminates several spawns of a team and all their child processes.
    pub(crate) async fn end_spawns(self, spawns: &HashSet<SpawnId>) -> Result<Ended, StoreError> {
        let target = processes_of_spawns(&self.files(), spawns.iter().copied())?;
        Ok(process::end(target, self.context.kill_grace).await)
    }
}

/// Terminates the child processes of a lead in this config directory.
pub async fn end_marked(spawn_context: &SpawnContext, spawn: SpawnId, grace: Duration) -> Ended {
    process::end(processes_of_spawn(&spawn_context.root, spawn), grace).await
}
