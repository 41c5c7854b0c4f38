//! A separate config directory for each test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use swarm_os::LifeHolder;
use swarm_protocol::{
    BackendType, Event, InboxEntry, MessageId, PaneId, SpawnId, TaskId, TeamName,
};
use swarm_store::{Actor, BlockOn as _, FileStore, Team, TeamStore};

use crate::values::{files_below, life_record};
pub(crate) use crate::values::{id, name, new_member, new_task, new_team, store_at, team};

/// A store with the team `crew`.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) root: PathBuf,
    pub(crate) store: FileStore,
    pub(crate) team: TeamName,
    /// Removed on drop; `None` in a child process.
    directory: Option<tempfile::TempDir>,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut world = Self::at(&directory.path().join("root"));
        world.directory = Some(directory);
        world
            .store
            .create_team(new_team("crew"))
            .block_on()
            .unwrap();
        world
    }

    /// Opens the world of another process.
    pub(crate) fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            store: store_at(root),
            team: team("crew"),
            directory: None,
        }
    }

    /// With one committed member that has no life file.
    pub(crate) fn with_member(member: &str) -> Self {
        let world = Self::new();
        world.join(member);
        world
    }

    /// Reserves and commits a member.
    pub(crate) fn join(&self, member: &str) -> SpawnId {
        let new = new_member(member);
        let spawn = new.spawn_id;
        self.handle().reserve(new).block_on().unwrap();
        self.commit(spawn);
        spawn
    }

    pub(crate) fn commit(&self, spawn: SpawnId) {
        self.handle()
            .commit_spawn(&spawn, PaneId::new("%1"), BackendType::Tmux, None)
            .block_on()
            .unwrap();
    }

    /// Takes a member's life lock in this process.
    pub(crate) fn live(&self, member: &str, spawn_id: SpawnId) -> LifeHolder {
        let record = life_record(spawn_id);
        let path = self.file(&format!("swarm/members/{member}/life"));
        LifeHolder::take(&path, &serde_json::to_vec(&record).unwrap()).unwrap()
    }

    /// Returns a file of the team.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join("teams/crew").join(name)
    }

    /// Returns the directory of the team's tasks.
    pub(crate) fn tasks(&self) -> PathBuf {
        self.root.join("tasks/crew")
    }

    pub(crate) fn inbox_path(&self, member: &str) -> PathBuf {
        self.file(&format!("inboxes/{member}.json"))
    }

    pub(crate) fn task_path(&self, number: u64) -> PathBuf {
        self.tasks().join(format!("{number}.json"))
    }

    pub(crate) fn unread(&self, member: &str) -> Vec<InboxEntry> {
        self.handle().take_unread(&name(member)).block_on().unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let events = self.handle().events().block_on().unwrap();
        events
            .entries
            .into_iter()
            .map(|entry| entry.event)
            .collect()
    }

    pub(crate) fn create(&self, subject: &str, blocked_by: &[u64]) -> TaskId {
        let new = new_task(subject, blocked_by);
        self.handle()
            .create_tasks(&[new], &self.person())
            .block_on()
            .unwrap()[0]
    }

    pub(crate) fn person(&self) -> Actor {
        Actor::person(&self.team)
    }

    /// The actor of an unknown spawn.
    pub(crate) fn actor(&self, member: &str) -> Actor {
        Actor::member(&self.team, name(member), None)
    }

    /// Returns the handle of the team.
    pub(crate) fn handle(&self) -> Arc<dyn Team> {
        self.store.team(&self.team)
    }

    /// Returns every regular file below the root with its content, except lock files.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        files_below(&self.root)
    }
}

/// Signals the end when dropped, also by a panic, so that waiting threads do not hang the test.
#[derive(Debug)]
pub(crate) struct Ends<'a>(pub(crate) &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Returns the IDs of entries in a JSON array or in JSON lines.
pub(crate) fn message_ids(path: &Path) -> Vec<MessageId> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let entries: Vec<Value> = if text.starts_with('[') {
        serde_json::from_str(&text).unwrap()
    } else {
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    entries
        .iter()
        .map(|entry| MessageId::new(entry["msg_id"].as_str().unwrap()))
        .collect()
}
