//! Processes of a spawn: the member, identified by its life record, and processes with the spawn's
//! mark in their environment.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_os::Liveness;
use swarm_os::process::{Identity, KnownProcesses, Process, Target, pid_space};
use swarm_protocol::{LifeKind, MemberName, ROOT_VARIABLE, SANDBOX_HELPER, SPAWN_MARK, SpawnId};
use swarm_store::process::is_running;
use swarm_store::{BlockOn as _, StoreError, Team};

/// Identifies processes with the mark of a spawn below a config directory. If the directory is a
/// copy, processes of the original have the same mark but do not match.
pub fn processes_of_spawn(root: &Path, spawn: SpawnId) -> Target {
    marked(Identity::new(ROOT_VARIABLE, root), [spawn])
}

/// Returns the processes of spawns: holders of their leases, and processes with their marks.
pub fn processes_of_members<'a>(
    team: &Arc<dyn Team>,
    members: impl IntoIterator<Item = (&'a MemberName, SpawnId)>,
) -> Target {
    let members = members.into_iter();
    let (names, spawns) = members.map(|(name, spawn)| (name.clone(), spawn)).unzip();
    living_or_marked(team, names, spawns)
}

/// Returns the processes of spawns of a team if the members' names are unknown.
///
/// # Errors
/// If the members' files cannot be listed.
pub fn processes_of_spawns(
    team: &Arc<dyn Team>,
    spawns: impl IntoIterator<Item = SpawnId>,
) -> Result<Target, StoreError> {
    let mut names = team.names_on_disk().block_on()?;
    names.retain(|name| !name.is_lead());
    Ok(living_or_marked(team, names, spawns.into_iter().collect()))
}

/// Returns the holders of these members' leases for these spawns, and processes with their marks.
fn living_or_marked(
    team: &Arc<dyn Team>,
    names: Vec<MemberName>,
    spawns: HashSet<SpawnId>,
) -> Target {
    let target = marked(team.identity(), spawns.iter().copied());
    let team = Arc::clone(team);
    let find = move || {
        let names = names.iter().cloned();
        let holders = names.filter_map(|name| holder_of(&*team, name));
        let own = holders.filter(|(kind, holder)| {
            // A task's process is that of its lead.
            *kind == LifeKind::Process && spawns.contains(&holder.spawn_id)
        });
        own.map(|(_, holder)| holder.process).collect()
    };
    Target {
        processes: KnownProcesses::found_by(find),
        ..target
    }
}

fn marked(identity: Identity, spawns: impl IntoIterator<Item = SpawnId>) -> Target {
    let marks = spawns.into_iter();
    Target {
        marks: marks
            .map(|spawn| (SPAWN_MARK.to_owned(), spawn.to_string()))
            .collect(),
        identity: Some(identity),
        // It removes the placeholders of a sandbox.
        cleans_up: Some(SANDBOX_HELPER),
        ..Target::default()
    }
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

/// Returns the processes of all members of a team in our PID namespace, whether or not they are in
/// its roster. Excludes the lead and members in its process.
///
/// # Errors
/// If the members' files cannot be listed.
pub fn life_holders(team: &dyn Team) -> Result<Vec<MemberProcess>, StoreError> {
    let names = team.names_on_disk().block_on()?.into_iter();
    Ok(names
        .filter(|name| !name.is_lead())
        .filter_map(|name| holder_of(team, name))
        .filter(|(kind, _)| *kind == LifeKind::Process)
        .map(|(_, holder)| holder)
        .collect())
}

/// Returns the process that holds a member's lease, if it runs in our PID namespace. In a copy of the
/// team's files the lease is not held. A member of a remote team is on this machine while its process
/// is, whatever the server answers.
fn holder_of(team: &dyn Team, name: MemberName) -> Option<(LifeKind, MemberProcess)> {
    if !team.is_remote() && team.lease(&name).block_on().ok()? != Liveness::Alive {
        return None;
    }
    let record = team.life_record_here(&name).block_on()?;
    if team.is_remote() && is_running(record.pid, &record.proc_start) != Some(true) {
        return None;
    }
    let process = Process {
        pid: record.pid.try_into().ok()?,
        start: record.proc_start.parse().ok()?,
    };
    let holder = MemberProcess {
        name,
        spawn_id: record.spawn_id,
        process,
    };
    (record.pid_space == pid_space()).then_some((record.kind, holder))
}

/// Returns whether the process of a spawn that counts as dead runs on this machine: it has lost its lease on
/// a server, and parks.
pub fn parks_here(team: &dyn Team, name: &MemberName, spawn_id: SpawnId) -> bool {
    team.is_remote()
        && holder_of(team, name.clone())
            .is_some_and(|(kind, holder)| kind == LifeKind::Process && holder.spawn_id == spawn_id)
}

/// Returns the processes of the running members and of the lead, with their recorded working
/// directories, which cannot be read from `/proc`.
///
/// # Errors
/// If the members' files cannot be listed.
pub fn working_directories(team: &dyn Team) -> Result<Vec<(MemberProcess, PathBuf)>, StoreError> {
    let names = team.names_on_disk().block_on()?.into_iter();
    let holders = names.filter_map(|name| holder_of(team, name).map(|(_, holder)| holder));
    let cwd = |holder: &MemberProcess| {
        if holder.name.is_lead() {
            let config = team.config().block_on().ok()?;
            return Some(config.member(&holder.name)?.cwd.clone());
        }
        let hello = team.hello(&holder.name).block_on().ok()??;
        (hello.spawn_id == holder.spawn_id).then_some(hello.cwd)
    };
    Ok(holders
        .filter_map(|holder| Some((cwd(&holder)?, holder)))
        .map(|(cwd, holder)| (holder, cwd))
        .collect())
}
