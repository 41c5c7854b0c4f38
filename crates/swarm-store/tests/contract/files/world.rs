//! A separate config directory for each test.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use swarm_protocol::MessageId;
use swarm_store::{BlockOn as _, FileStore, TeamStore};

use crate::kinds::Files;
use crate::values::files_below;
pub(crate) use crate::values::{id, name, new_member, new_task, new_team, store_at};

/// A store with the team `crew`, and its files.
pub(crate) struct World {
    crew: crate::world::World,
    pub(crate) root: PathBuf,
    pub(crate) store: FileStore,
}

impl Deref for World {
    type Target = crate::world::World;

    fn deref(&self) -> &Self::Target {
        &self.crew
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        let world = Self::of(&root, Some(directory));
        let team = world.store.create_team(new_team("crew"));
        team.block_on().unwrap();
        world
    }

    /// Opens the world of another process.
    pub(crate) fn at(root: &Path) -> Self {
        Self::of(root, None)
    }

    fn of(root: &Path, directory: Option<tempfile::TempDir>) -> Self {
        let kind = Files::at(root, directory);
        Self {
            store: kind.store.clone(),
            crew: crate::world::World::existing(kind),
            root: root.to_owned(),
        }
    }

    /// Replaces the store, by one with other limits for example.
    pub(crate) fn set_store(&mut self, store: FileStore) {
        self.crew.store = Arc::new(store.clone());
        self.store = store;
    }

    /// With one committed member that has no life file.
    pub(crate) fn with_member(member: &str) -> Self {
        let world = Self::new();
        world.join(member);
        world
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
