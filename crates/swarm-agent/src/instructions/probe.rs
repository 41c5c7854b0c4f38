//! Detects changes of files with one `stat` each.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The state of a path: device, inode, size, and modification time in seconds and nanoseconds;
/// `None` if it did not exist.
type FileState = Option<(u64, u64, u64, i64, i64)>;

/// Paths and their state when they were last read.
#[derive(Debug, Default)]
pub(super) struct Probes(Vec<(PathBuf, FileState)>);

impl Probes {
    pub(super) fn add(&mut self, path: &Path) {
        self.0.push((path.to_owned(), file_state(path)));
    }

    pub(super) fn changed(&self) -> bool {
        self.0
            .iter()
            .any(|(path, recorded)| file_state(path) != *recorded)
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

fn file_state(path: &Path) -> FileState {
    let metadata = fs::metadata(path).ok()?;
    Some((
        metadata.dev(),
        metadata.ino(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec(),
    ))
}
