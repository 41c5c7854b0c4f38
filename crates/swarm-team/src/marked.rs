//! Processes of a spawn: the member, identified by its life record, and processes with the spawn's
//! mark in their environment.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use swarm_os::process::{KnownProcesses, Process, Target, pid_space};
use swarm_os::{Liveness, probe_and_read};
use swarm_protocol::{
    LifeKind, LifeRecord, MemberName, ROOT_VARIABLE, SANDBOX_HELPER, SPAWN_MARK, SpawnId,
};
use swarm_store::{BlockOn as _, Team};

/// Identifies processes with the mark of a spawn of a team below a config directory. If the
/// directory is a copy, processes of the original have the same mark but do not match.
pub fn processes_of_spawn(root: &Path, spawn: SpawnId) -> Target {
    marked(root, [spawn])
}

/// Returns the processes of spawns: holders of their life locks, and processes with their marks.
pub fn processes_of_members<'a>(
    team: &dyn Team,
    members: impl IntoIterator<Item = (&'a MemberName, SpawnId)>,
) -> Target {
    let (lives, spawns) = members
        .into_iter()
        .map(|(name, spawn)| (team.life_path(name), spawn))
        .unzip();
    living_or_marked(team, lives, spawns)
}

/// Returns the processes of spawns of a team if the members' names are unknown.
pub fn processes_of_spawns(team: &dyn Team, spawns: impl IntoIterator<Item = SpawnId>) -> Target {
    let names = team.names_on_disk().block_on().into_iter();
    let names = names.filter(|name| !name.is_lead());
    let lives = names.map(|name| team.life_path(&name)).collect();
    living_or_marked(team, lives, spawns.into_iter().collect())
}

/// Returns the holders of these life locks for these spawns, and processes with their marks.
fn living_or_marked(team: &dyn Team, lives: Vec<PathBuf>, spawns: HashSet<SpawnId>) -> Target {
    let target = marked(root_of(&team.team_directory()), spawns.iter().copied());
    let find = move || {
        let holders = lives.iter().filter_map(|path| life_holder(path));
        let holders = holders.filter(|(spawn, _)| spawns.contains(spawn));
        holders.map(|(_, process)| process).collect()
    };
    Target {
        processes: KnownProcesses::found_by(find),
        ..target
    }
}

fn marked(root: &Path, spawns: impl IntoIterator<Item = SpawnId>) -> Target {
    let marks = spawns.into_iter();
    Target {
        marks: marks
            .map(|spawn| (SPAWN_MARK.to_owned(), spawn.to_string()))
            .collect(),
        home: Some((ROOT_VARIABLE.to_owned(), root.to_owned())),
        // It removes the placeholders of a sandbox.
        cleans_up: Some(SANDBOX_HELPER),
        ..Target::default()
    }
}

/// Returns the config directory of a team, which is `teams/<team>` in it.
fn root_of(team_directory: &Path) -> &Path {
    team_directory.ancestors().nth(2).unwrap_or(team_directory)
}

/// The process of a member. It is protected from inspection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberProcess {
    /// Name of the member.
    pub name: MemberName,
    /// ID of its spawn.
    pub spawn_id: SpawnId,
    /// PID of the process.
    pub process: Process,
}

/// Returns the process that holds a life lock, with its spawn, if it runs in our PID namespace. In
/// a copied config directory the lock is not held.
fn life_holder(path: &Path) -> Option<(SpawnId, Process)> {
    let (Liveness::Alive, content) = probe_and_read(path).ok()? else {
        return None;
    };
    let record: LifeRecord = serde_json::from_slice(&content?).ok()?;
    let is_here = record.kind == LifeKind::Process && record.pid_space == pid_space();
    let process = Process {
        pid: record.pid.try_into().ok()?,
        start: record.proc_start.parse().ok()?,
    };
    is_here.then_some((record.spawn_id, process))
}

/// Returns the processes of all members of a team in our PID namespace, whether or not they are in
/// its roster. Excludes the lead.
pub fn life_holders(team: &dyn Team) -> Vec<MemberProcess> {
    let names = team.names_on_disk().block_on().into_iter();
    names
        .filter(|name| !name.is_lead())
        .filter_map(|name| holder_of(team, name))
        .collect()
}

fn holder_of(team: &dyn Team, name: MemberName) -> Option<MemberProcess> {
    let (spawn_id, process) = life_holder(&team.life_path(&name))?;
    Some(MemberProcess {
        name,
        spawn_id,
        process,
    })
}

/// Returns the processes of the running members and of the lead, with their recorded working
/// directories, which cannot be read from `/proc`.
pub fn working_directories(team: &dyn Team) -> Vec<(MemberProcess, PathBuf)> {
    let names = team.names_on_disk().block_on().into_iter();
    let holders = names.filter_map(|name| holder_of(team, name));
    let cwd = |holder: &MemberProcess| {
        if holder.name.is_lead() {
            let config = team.config().block_on().ok()?;
            return Some(config.member(&holder.name)?.cwd.clone());
        }
        let hello = team.hello(&holder.name).block_on().ok()??;
        (hello.spawn_id == holder.spawn_id).then_some(hello.cwd)
    };
    holders
        .filter_map(|holder| Some((cwd(&holder)?, holder)))
        .map(|(cwd, holder)| (holder, cwd))
        .collect()
}
