//! The kinds of stores that keep the contract. A new kind is added here and in `main.rs`.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_protocol::SystemClock;
use swarm_store::{FileStore, MemoryStore, StoreLimits, TeamStore};

use crate::values::store_at;
use crate::world::{Kind, World};

/// Claude Code's files in a directory of their own.
struct Files {
    store: FileStore,
    directory: tempfile::TempDir,
}

impl Kind for Files {
    fn store(&self) -> Arc<dyn TeamStore> {
        Arc::new(self.store.clone())
    }

    fn limited(&self, limits: StoreLimits) -> Arc<dyn TeamStore> {
        Arc::new(self.store.clone().with_limits(limits))
    }

    fn hold(&self) -> Box<dyn Any> {
        let root = self.directory.path();
        let mut files = vec![
            root.join("teams/crew/config.json"),
            root.join("teams/crew/swarm/locks/requests"),
            root.join("tasks/crew/.lock"),
        ];
        let inboxes = fs::read_dir(root.join("teams/crew/inboxes")).unwrap();
        files.extend(inboxes.map(|entry| entry.unwrap().path()));
        Box::new(Foreign::on(files))
    }

    fn content(&self) -> String {
        format!("{:?}", content_of(self.directory.path()))
    }
}

/// Lock directories of another program.
struct Foreign(Vec<PathBuf>);

impl Foreign {
    fn on(files: Vec<PathBuf>) -> Self {
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

impl Drop for Foreign {
    fn drop(&mut self) {
        for lock in &self.0 {
            fs::remove_dir(lock).unwrap();
        }
    }
}

/// Every regular file below a directory, except lock files, with its inode: a file is replaced when it
/// is written.
fn content_of(root: &Path) -> BTreeMap<PathBuf, (u64, String)> {
    let mut files = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.parent().unwrap().file_name().unwrap() != "locks" {
                let content = fs::read(&path).unwrap();
                let content = String::from_utf8_lossy(&content).into_owned();
                files.insert(path.clone(), (fs::metadata(&path).unwrap().ino(), content));
            }
        }
    }
    files
}

struct Memory {
    store: MemoryStore,
    _scratch: tempfile::TempDir,
}

impl Kind for Memory {
    fn store(&self) -> Arc<dyn TeamStore> {
        Arc::new(self.store.clone())
    }

    fn limited(&self, limits: StoreLimits) -> Arc<dyn TeamStore> {
        Arc::new(self.store.clone().with_limits(limits))
    }

    fn hold(&self) -> Box<dyn Any> {
        Box::new(self.store.hold())
    }

    fn content(&self) -> String {
        self.store.content()
    }
}

pub(crate) fn files() -> World {
    let directory = tempfile::tempdir().unwrap();
    let store = store_at(directory.path());
    World::of(Files { store, directory })
}

pub(crate) fn memory() -> World {
    let scratch = tempfile::tempdir().unwrap();
    World::of(Memory {
        store: MemoryStore::new(scratch.path().to_owned(), Arc::new(SystemClock)),
        _scratch: scratch,
    })
}

pub(crate) fn disturbed_memory(seed: u64) -> World {
    let scratch = tempfile::tempdir().unwrap();
    World::of(Memory {
        store: MemoryStore::disturbed(scratch.path().to_owned(), Arc::new(SystemClock), seed),
        _scratch: scratch,
    })
}
