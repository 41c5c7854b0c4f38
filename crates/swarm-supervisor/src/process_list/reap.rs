//! Termination of orphaned processes.

use std::collections::{BTreeMap, HashSet};

use futures::future::join_all;
use swarm_protocol::{MemberName, SpawnId, TeamName};

use super::collect::process_list;
use super::spawn::{end_marked, end_member, end_spawns};
use super::{LeadStanding, ProcessKind, ProcessStatus, SeenProcess, lead_standing};
use crate::stop::kill_spawn;
use crate::{LeadError, SpawnContext};

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

/// Terminates every process that names this team and config directory, whatever its roster
/// contains. Returns the number of processes that are still running.
pub(crate) async fn end_marked_of(
    spawn_context: &SpawnContext,
    team: &TeamName,
) -> Result<usize, LeadError> {
    let seen = process_list(&*spawn_context.store, &spawn_context.root)?;
    let spawns: HashSet<SpawnId> = seen
        .iter()
        .filter(|process| process.team.as_deref() == Some(team.as_str()))
        .filter(|process| !matches!(process.standing, ProcessStatus::Elsewhere(_)))
        .filter_map(|process| process.spawn_id)
        .collect();
    Ok(end_spawns(spawn_context, team, &spawns).await?.left)
}

/// Returns why a process is to be terminated, and whether it has a roster entry to remove.
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

async fn end_one(
    spawn_context: &SpawnContext,
    mut reaped: Reaped,
    placed: Option<TeamName>,
) -> Reaped {
    let member = reaped
        .member
        .as_deref()
        .and_then(|name| MemberName::teammate(name).ok());
    if let (Some(team), Some(member)) = (&placed, &member) {
        if let Err(error) = end_parked(spawn_context, team, member, reaped.spawn_id).await {
            reaped.left = reaped.pids.len();
            reaped.error = Some(error);
        }
        return reaped;
    }
    let (spawn, grace) = (reaped.spawn_id, spawn_context.kill_grace);
    let team = reaped.team.as_deref().map(TeamName::parse);
    let ended = match (team, member) {
        (Some(Ok(team)), Some(member)) => {
            end_member(spawn_context, &team, &member, spawn, grace).await
        }
        _ => end_marked(spawn_context, spawn, grace).await,
    };
    reaped.left = ended.left;
    reaped
}

/// Stops a member of a lost lead, unless the team was taken over since the process list was read.
async fn end_parked(
    spawn_context: &SpawnContext,
    team: &TeamName,
    member: &MemberName,
    spawn_id: SpawnId,
) -> Result<(), LeadError> {
    let config = spawn_context.store.team(team).config().await?;
    match lead_standing(&*spawn_context.store, &config)? {
        LeadStanding::Lost(_) => {
            let ended = kill_spawn(spawn_context, team, member, spawn_id).await;
            ended.map(drop)
        }
        _ => Err(LeadError::TakenOver {
            team: team.clone(),
            member: member.clone(),
        }),
    }
}
