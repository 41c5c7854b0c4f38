//! Whether files are as they were when they were read, at the price of one `stat` each.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What was seen of a path: device, inode, size and time of change; `None` if it was not there.
type Seen = Option<(u64, u64, u64, i64, i64)>;

/// Paths that were looked at, and what was seen.
#[derive(Debug, Default)]
pub(super) struct Probes(Vec<(PathBuf, Seen)>);

impl Probes {
    pub(super) fn add(&mut self, path: &Path) {
        self.0.push((path.to_owned(), see(path)));
    }

    /// Whether any path differs from what was seen.
    pub(super) fn changed(&self) -> bool {
        self.0.iter().any(|(path, seen)| see(path) != *seen)
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

fn see(path: &Path) -> Seen {
    let metadata = fs::metadata(path).ok()?;
    Some((
        metadata.dev(),
        metadata.ino(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec(),
    ))
}
