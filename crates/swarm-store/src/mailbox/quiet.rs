//! Inboxes in which everything was read when they were last looked at: a further look need not open them.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

/// How long a file must have been left alone before its times tell one content from another: they are coarse, and a
/// second change within the same moment would not show.
const LEFT_ALONE: Duration = Duration::from_secs(1);

/// What tells one content of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    file: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of a file that has been left alone for a while, taken before its content is read.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        let age = SystemTime::now().duration_since(found.modified().ok()?);
        // A time in the future tells nothing.
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

/// The stamps of quiet inboxes.
#[derive(Debug, Default)]
pub(crate) struct QuietInboxes {
    stamps: Mutex<HashMap<PathBuf, Stamp>>,
}

impl QuietInboxes {
    pub(super) fn stamp_of(&self, path: &Path) -> Option<Stamp> {
        self.stamps.lock().get(path).copied()
    }

    /// Notes what an inbox looks like that is quiet; none for one that is not.
    pub(super) fn note(&self, path: PathBuf, stamp: Option<Stamp>) {
        let mut stamps = self.stamps.lock();
        match stamp {
            Some(stamp) => stamps.insert(path, stamp),
            None => stamps.remove(&path),
        };
    }
}
