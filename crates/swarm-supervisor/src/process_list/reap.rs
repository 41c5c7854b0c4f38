//! Ending what belongs nowhere any more.

use std::collections::{BTreeMap, HashSet};

use futures::future::join_all;
use swarm_protocol::{MemberName, SpawnId, TeamName};

use super::look::process_list;
use super::spawn::{end_marked, end_member, end_spawns};
use super::{LeadStanding, ProcessKind, ProcessStatus, SeenProcess, lead_standing};
use crate::stop::kill_spawn;
use crate::{LeadError, SpawnContext};

/// What became of the processes of one spawn.
#[derive(Debug)]
pub struct Reaped {
    /// Their team, as they were told.
    pub team: Option<String>,
    /// Their member.
    pub member: Option<String>,
    /// Which spawn.
    pub spawn_id: SpawnId,
    /// The processes that the process list saw.
    pub pids: Vec<i32>,
    /// Why they were ended.
    pub why: String,
    /// How many live on all the same.
    pub left: usize,
    /// What else went wrong.
    pub error: Option<LeadError>,
}

/// Ends the strays among `seen`, and with `parked` the members whose lead was lost, too. Whatever has its place in a
/// roster, belongs to another root, or cannot be judged is left alone.
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

/// Ends every process that names this team of our root, whatever its roster says or hides. Tells how many live on.
///
/// # Errors
/// Whatever the store says when it lists the teams.
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
    Ok(end_spawns(spawn_context, team, &spawns).await.left)
}

/// Why a process is to be ended, and whether it has a place in a roster to be taken from.
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

/// Ends a member of a lost lead, unless somebody has taken the team over since the process list.
async fn end_parked(
    spawn_context: &SpawnContext,
    team: &TeamName,
    member: &MemberName,
    spawn_id: SpawnId,
) -> Result<(), LeadError> {
    let config = spawn_context.store.team(team).config()?;
    match lead_standing(&*spawn_context.store, &config)? {
        LeadStanding::Lost { .. } => {
            let ended = kill_spawn(spawn_context, team, member, spawn_id).await;
            ended.map(drop)
        }
        _ => Err(LeadError::TakenOver {
            team: team.clone(),
            member: member.clone(),
        }),
    }
}
