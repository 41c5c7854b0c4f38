//! Values for tests of the store.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use swarm_os::LockOptions;
use swarm_protocol::{
    CostRecord, Event, LifeKind, LifeRecord, MemberName, Money, NewTask, Reservation, SpawnId,
    SystemClock, TaskId, TeamName, UnixMs, Usage,
};
use swarm_store::{FileStore, NewMember, NewTeam, StoppedSpawn, process};

pub(crate) fn name(text: &str) -> MemberName {
    MemberName::parse(text).unwrap()
}

pub(crate) fn team(text: &str) -> TeamName {
    TeamName::parse(text).unwrap()
}

pub(crate) fn id(number: u64) -> TaskId {
    TaskId::new(number)
}

pub(crate) fn store_at(root: &Path) -> FileStore {
    let options = LockOptions {
        deadline: Duration::from_mins(1),
        ..LockOptions::default()
    };
    FileStore::new(root.to_owned(), Arc::new(SystemClock)).with_lock_options(options)
}

pub(crate) fn new_team(text: &str) -> NewTeam {
    NewTeam::new(team(text), "/work", "a test")
}

/// A member to be spawned by this process.
pub(crate) fn new_member(member: &str) -> NewMember {
    let pid = std::process::id();
    let held = Reservation::new(pid, process::start_time(pid).unwrap(), UnixMs(u64::MAX));
    NewMember::new(name(member), SpawnId::random(), held, "/work")
}

pub(crate) fn new_task(subject: &str, blocked_by: &[u64]) -> NewTask {
    NewTask {
        subject: subject.to_owned(),
        description: "do it".to_owned(),
        blocked_by: blocked_by.iter().copied().map(id).collect(),
        ..NewTask::default()
    }
}

/// The life record of a spawn in this process.
pub(crate) fn life_record(spawn_id: SpawnId) -> LifeRecord {
    let pid = std::process::id();
    LifeRecord {
        host: "here".to_owned(),
        ..LifeRecord::new(
            LifeKind::Task,
            pid,
            process::start_time(pid).unwrap(),
            spawn_id,
        )
    }
}

pub(crate) fn cost(member: &str, dollars: f64) -> CostRecord {
    CostRecord {
        at: UnixMs(1),
        member: name(member),
        agent: None,
        task: None,
        model: "anthropic/m".to_owned(),
        usage: Usage::default(),
        usd: Money::dollars(dollars),
        price: None,
        reservation: None,
    }
}

/// A spawn that was killed.
pub(crate) fn killed(spawn: SpawnId) -> StoppedSpawn {
    StoppedSpawn::new(spawn, "killed")
}

/// Returns those of the events that record the end of a spawn.
pub(crate) fn deaths(mut events: Vec<Event>, spawn: SpawnId) -> Vec<Event> {
    events.retain(|event| match event {
        Event::MemberDied { spawn_id, .. } | Event::MemberStopped { spawn_id, .. } => {
            *spawn_id == spawn
        }
        _ => false,
    });
    events
}

/// Returns every regular file below a directory with its content, except lock files.
pub(crate) fn files_below(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.parent().unwrap().file_name().unwrap() != "locks" {
                let content = fs::read(&path).unwrap();
                files.insert(path, content);
            }
        }
    }
    files
}

/// Lock directories of another program.
pub(crate) struct ForeignLocks(Vec<PathBuf>);

impl ForeignLocks {
    pub(crate) fn on(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let locks = files.into_iter().map(|file| {
            let mut lock = file.into_os_string();
            lock.push(".lock");
            PathBuf::from(lock)
        });
        let locks: Vec<PathBuf> = locks.collect();
        for lock in &locks {
            fs::create_dir(lock).unwrap();
        }
        Self(locks)
    }
}

impl Drop for ForeignLocks {
    fn drop(&mut self) {
        for lock in &self.0 {
            fs::remove_dir(lock).unwrap();
        }
    }
}
