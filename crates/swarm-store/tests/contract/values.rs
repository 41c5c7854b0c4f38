//! Values for tests of the store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use swarm_os::LockOptions;
use swarm_protocol::{
    LifeKind, LifeRecord, MemberName, NewTask, Reservation, SpawnId, SystemClock, TaskId, TeamName,
    UnixMs,
};
use swarm_store::{FileStore, NewMember, NewTeam, process};

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
