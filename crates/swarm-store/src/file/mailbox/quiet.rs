//! Cache of inboxes without unread entries: they are not opened again until they change.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

/// Minimum age of a change before the timestamps identify the content: they are coarse, so two
/// changes in quick succession may have equal timestamps.
const LEFT_ALONE: Duration = Duration::from_secs(1);

/// Identifies the content of a file by its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    file: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Returns the stamp of a file that has not changed for a while. Call it before reading the
    /// content.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        let age = SystemTime::now().duration_since(found.modified().ok()?);
        // A time in the future is unusable.
        if age.ok()? < LEFT_ALONE {
            return None;
        }
        Some(Self {
            file: (found.dev(), found.ino()),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// Stamps of inboxes without unread entries.
#[derive(Debug, Default)]
pub(crate) struct QuietInboxes {
    stamps: Mutex<HashMap<PathBuf, Stamp>>,
}

impl QuietInboxes {
    pub(super) fn stamp_of(&self, path: &Path) -> Option<Stamp> {
        self.stamps.lock().get(path).copied()
    }

    /// Stores the stamp of an inbox without unread entries; `None` removes it.
    pub(super) fn note(&self, path: PathBuf, stamp: Option<Stamp>) {
        let mut stamps = self.stamps.lock();
        match stamp {
            Some(stamp) => stamps.insert(path, stamp),
            None => stamps.remove(&path),
        };
    }
}
