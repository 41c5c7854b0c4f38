//! Termination of spawns and of orphaned processes.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use futures::future::join_all;
use swarm_os::process::{self, Ended};
use swarm_protocol::{MemberName, SpawnId, TeamName};
use swarm_store::StoreError;
use swarm_team::{processes_of_members, processes_of_spawn, processes_of_spawns};

use super::collect::process_list;
use super::{LeadStanding, ProcessKind, ProcessStatus, SeenProcess, lead_standing};
use crate::{LeadError, SpawnContext, SupervisedMember, SupervisedTeam};

/// Result for the processes of one spawn.
#[derive(Debug)]
pub struct Reaped {
    /// Team, from their environment.
    pub team: Option<String>,
    /// Member, from their environment.
    pub member: Option<String>,
    /// Spawn.
    pub spawn_id: SpawnId,
    /// Processes in the process list.
    pub pids: Vec<i32>,
    /// Reason for the termination.
    pub why: String,
    /// Number of processes that are still running.
    pub left: usize,
    /// Other error.
    pub error: Option<LeadError>,
}

/// Terminates the orphaned processes in `seen`, and with `parked` also members that lost their
/// lead. Processes in a roster, of other config directories or with unknown state are skipped.
pub async fn reap(spawn_context: &SpawnContext, seen: &[SeenProcess], parked: bool) -> Vec<Reaped> {
    let mut by_spawn: BTreeMap<String, (Reaped, Option<TeamName>)> = BTreeMap::new();
    for process in seen {
        let Some(spawn_id) = process.spawn_id else {
            continue;
        };
        let Some((why, takes_leave)) = reason(process, parked) else {
            continue;
        };
        let (reaped, _) = by_spawn.entry(spawn_id.to_string()).or_insert_with(|| {
            let team = process.team.as_deref();
            let team = team.filter(|_| takes_leave);
            let reaped = Reaped {
                team: process.team.clone(),
                member: process.member.clone(),
                spawn_id,
                pids: Vec::new(),
                why,
                left: 0,
                error: None,
            };
            (reaped, team.and_then(|team| TeamName::parse(team).ok()))
        });
        reaped.pids.push(process.pid);
    }
    let work = by_spawn
        .into_values()
        .map(|(reaped, placed)| end_one(spawn_context, reaped, placed));
    join_all(work).await
}

impl SupervisedTeam<'_> {
    /// Terminates several spawns of a team and all their child processes.
    pub(crate) async fn end_spawns(self, spawns: &HashSet<SpawnId>) -> Result<Ended, StoreError> {
        let target = processes_of_spawns(&self.files(), spawns.iter().copied())?;
        Ok(process::end(target, self.context.kill_grace).await)
    }

    /// Terminates every process that names this team and config directory, whatever its roster
    /// contains. Returns the number of processes that are still running.
    pub(crate) async fn end_all_processes(self) -> Result<usize, LeadError> {
        let seen = process_list(&*self.context.store, &self.context.root)?;
        let spawns: HashSet<SpawnId> = seen
            .iter()
            .filter(|process| process.team.as_deref() == Some(self.name.as_str()))
            .filter(|process| !matches!(process.standing, ProcessStatus::Elsewhere(_)))
            .filter_map(|process| process.spawn_id)
            .collect();
        Ok(self.end_spawns(&spawns).await?.left)
    }
}

/// Returns why a process must be terminated, and whether it has a roster entry to remove.
pub(super) fn reason(process: &SeenProcess, parked: bool) -> Option<(String, bool)> {
    match &process.standing {
        ProcessStatus::Orphan(stray) => Some((stray.to_string(), false)),
        ProcessStatus::Placed {
            lead_lost: true, ..
        } if parked && process.kind != ProcessKind::Lead => {
            Some(("its lead was lost".to_owned(), true))
        }
        _ => None,
    }
}

async fn end_one(context: &SpawnContext, mut reaped: Reaped, placed: Option<TeamName>) -> Reaped {
    let (spawn_id, grace) = (reaped.spawn_id, context.kill_grace);
    let member = reaped
        .member
        .as_deref()
        .and_then(|name| MemberName::teammate(name).ok());
    if let (Some(team), Some(member)) = (&placed, &member) {
        if let Err(error) = context.team(team).member(member).end_parked(spawn_id).await {
            reaped.left = reaped.pids.len();
            reaped.error = Some(error);
        }
        return reaped;
    }
    let team = reaped.team.as_deref().map(TeamName::parse);
    let ended = match (team, member) {
        (Some(Ok(team)), Some(member)) => {
            let member = context.team(&team).member(&member);
            member.end_spawn(spawn_id, grace).await
        }
        _ => end_processes_of_spawn(context, spawn_id, grace).await,
    };
    reaped.left = ended.left;
    reaped
}

impl SupervisedMember<'_> {
    /// Terminates a spawn of a member of this config directory and all its child processes: SIGTERM,
    /// then after `grace` SIGKILL.
    pub(crate) async fn end_spawn(self, spawn: SpawnId, grace: Duration) -> Ended {
        let target = processes_of_members(&self.files(), [(self.name, spawn)]);
        process::end(target, grace).await
    }

    /// Stops a member of a lost lead, unless the team was taken over since the process list was
    /// read.
    async fn end_parked(self, spawn_id: SpawnId) -> Result<(), LeadError> {
        let config = self.files().config().await?;
        match lead_standing(&*self.team.context.store, &config)? {
            LeadStanding::Lost(_) => self.kill_spawn(spawn_id).await.map(drop),
            _ => Err(LeadError::TakenOver {
                team: self.team.name.clone(),
                member: self.name.clone(),
            }),
        }
    }
}

/// Terminates the processes with the mark of a spawn in this config directory, such as the child
/// processes of a lead: SIGTERM, then after `grace` SIGKILL.
pub async fn end_processes_of_spawn(
    spawn_context: &SpawnContext,
    spawn: SpawnId,
    grace: Duration,
) -> Ended {
    process::end(processes_of_spawn(&spawn_context.root, spawn), grace).await
}
