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
        let own = holders.filter(|holder| {
            // A task's process is that of its lead.
            holder.kind == LifeKind::Process && spawns.contains(&holder.spawn_id)
        });
        own.map(|holder| holder.process).collect()
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

/// The holder of a life lock.
struct LifeHolder {
    kind: LifeKind,
    spawn_id: SpawnId,
    process: Process,
}

/// Returns the holder of a life lock, if it runs in our PID namespace. In a copied config directory
/// the lock is not held.
fn life_holder(path: &Path) -> Option<LifeHolder> {
    let (Liveness::Alive, content) = probe_and_read(path).ok()? else {
        return None;
    };
    let record: LifeRecord = serde_json::from_slice(&content?).ok()?;
    let process = Process {
        pid: record.pid.try_into().ok()?,
        start: record.proc_start.parse().ok()?,
    };
    (record.pid_space == pid_space()).then_some(LifeHolder {
        kind: record.kind,
        spawn_id: record.spawn_id,
        process,
    })
}

/// Returns the processes of all members of a team in our PID namespace, whether or not they are in
/// its roster. Excludes the lead and members in its process.
pub fn life_holders(team: &dyn Team) -> Vec<MemberProcess> {
    let names = team.names_on_disk().block_on().into_iter();
    names
        .filter(|name| !name.is_lead())
        .filter_map(|name| holder_of(team, name))
        .filter(|(kind, _)| *kind == LifeKind::Process)
        .map(|(_, holder)| holder)
        .collect()
}

fn holder_of(team: &dyn Team, name: MemberName) -> Option<(LifeKind, MemberProcess)> {
    let holder = life_holder(&team.life_path(&name))?;
    let process = MemberProcess {
        name,
        spawn_id: holder.spawn_id,
        process: holder.process,
    };
    Some((holder.kind, process))
}

/// Returns the processes of the running members and of the lead, with their recorded working
/// directories, which cannot be read from `/proc`.
pub fn working_directories(team: &dyn Team) -> Vec<(MemberProcess, PathBuf)> {
    let names = team.names_on_disk().block_on().into_iter();
    let holders = names.filter_map(|name| holder_of(team, name).map(|(_, holder)| holder));
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
