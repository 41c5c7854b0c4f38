//! The processes of a spawn: the member itself, known by its life record, and what bears the mark of the spawn.

use std::collections::HashSet;
use std::path::Path;

use swarm_fs::process::{Process, Target, pid_space};
use swarm_fs::{Liveness, probe_and_read};
use swarm_protocol::{
    LifeKind, LifeRecord, MemberName, ROOT_VARIABLE, SPAWN_MARK, SpawnId, TeamName,
};
use swarm_store::TeamStore;

/// What bears the mark of a spawn of the teams below a root folder. Those of another root bear the same mark where that root, or
/// this one, is a copy; they are not meant.
pub fn processes_of_spawn(root: &Path, spawn: SpawnId) -> Target {
    marked(root, [spawn])
}

/// The processes of some spawns of members: who holds the life lock for one of them, and what bears their marks.
pub fn processes_of_members<'a>(
    store: &dyn TeamStore,
    team: &TeamName,
    members: impl IntoIterator<Item = (&'a MemberName, SpawnId)>,
) -> Target {
    let mut processes = Vec::new();
    let mut spawns = Vec::new();
    for (name, spawn) in members {
        let holder = life_holder(store, team, name).filter(|holder| holder.spawn_id == spawn);
        processes.extend(holder.map(|holder| holder.process));
        spawns.push(spawn);
    }
    Target {
        processes,
        ..marked(root_of(&store.team_folder(team)), spawns)
    }
}

/// The same for spawns of a team whose members' names are not known.
pub fn processes_of_spawns(
    store: &dyn TeamStore,
    team: &TeamName,
    spawns: impl IntoIterator<Item = SpawnId>,
) -> Target {
    let spawns: HashSet<SpawnId> = spawns.into_iter().collect();
    let holders = life_holders(store, team).into_iter();
    let holders = holders.filter(|holder| spawns.contains(&holder.spawn_id));
    let processes = holders.map(|holder| holder.process).collect();
    Target {
        processes,
        ..marked(root_of(&store.team_folder(team)), spawns)
    }
}

fn marked(root: &Path, spawns: impl IntoIterator<Item = SpawnId>) -> Target {
    let marks = spawns.into_iter();
    Target {
        marks: marks
            .map(|spawn| (SPAWN_MARK.to_owned(), spawn.to_string()))
            .collect(),
        home: Some((ROOT_VARIABLE.to_owned(), root.to_owned())),
        ..Target::default()
    }
}

/// The root folder of a team: it is `teams/<team>` in there.
fn root_of(team_folder: &Path) -> &Path {
    team_folder.ancestors().nth(2).unwrap_or(team_folder)
}

/// The process of a member, which cannot be inspected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberProcess {
    /// The member.
    pub name: MemberName,
    /// Its spawn.
    pub spawn_id: SpawnId,
    /// Its process.
    pub process: Process,
}

/// The process that holds a member's life lock, if it runs in our pid namespace. The lock proves that it is the member's:
/// that of a copied root is held by nobody.
fn life_holder(store: &dyn TeamStore, team: &TeamName, name: &MemberName) -> Option<MemberProcess> {
    let (Liveness::Alive, content) = probe_and_read(&store.life_path(team, name)).ok()? else {
        return None;
    };
    let record: LifeRecord = serde_json::from_slice(&content?).ok()?;
    let is_here = record.kind == LifeKind::Process && record.pid_space == pid_space();
    let process = Process {
        pid: record.pid.try_into().ok()?,
        start: record.proc_start.parse().ok()?,
    };
    is_here.then(|| MemberProcess {
        name: name.clone(),
        spawn_id: record.spawn_id,
        process,
    })
}

/// The processes of all members of a team that live in our pid namespace, whether or not they are in its roster. Without
/// the lead.
pub fn life_holders(store: &dyn TeamStore, team: &TeamName) -> Vec<MemberProcess> {
    let records = store.life_records(team).into_iter();
    records
        .filter(|(name, _)| !name.is_lead())
        .filter_map(|(name, _)| life_holder(store, team, &name))
        .collect()
}
