//! The kinds of stores that keep the contract. A new kind is added here and in `main.rs`.

use std::any::Any;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_protocol::SystemClock;
use swarm_store::{FileStore, MemoryStore, StoreLimits, TeamStore};

use crate::values::{ForeignLocks, files_below, store_at};
use crate::world::{Kind, World};

/// Claude Code's files in a directory of their own.
pub(crate) struct Files {
    pub(crate) store: FileStore,
    root: PathBuf,
    /// Removed on drop; `None` in a child process.
    _directory: Option<tempfile::TempDir>,
}

impl Files {
    pub(crate) fn at(root: &Path, directory: Option<tempfile::TempDir>) -> Self {
        Self {
            store: store_at(root),
            root: root.to_owned(),
            _directory: directory,
        }
    }
}

impl Kind for Files {
    fn store(&self) -> Arc<dyn TeamStore> {
        Arc::new(self.store.clone())
    }

    fn limited(&self, limits: StoreLimits) -> Arc<dyn TeamStore> {
        Arc::new(self.store.clone().with_limits(limits))
    }

    fn hold(&self) -> Box<dyn Any> {
        let root = &self.root;
        let mut files = vec![
            root.join("teams/crew/config.json"),
            root.join("teams/crew/swarm/locks/requests"),
            root.join("tasks/crew/.lock"),
        ];
        let inboxes = fs::read_dir(root.join("teams/crew/inboxes")).unwrap();
        files.extend(inboxes.map(|entry| entry.unwrap().path()));
        Box::new(ForeignLocks::on(files))
    }

    fn content(&self) -> String {
        let files = files_below(&self.root).into_iter();
        let text = |content: Vec<u8>| String::from_utf8_lossy(&content).into_owned();
        // A file is replaced when it is written.
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        let files = files.map(|(path, content)| (inode(&path), path, text(content)));
        format!("{:?}", files.collect::<Vec<_>>())
    }
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
    let root = directory.path().to_owned();
    World::of(Files::at(&root, Some(directory)))
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
