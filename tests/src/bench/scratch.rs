//! Directories to measure in.

use std::path::{Path, PathBuf};

use crate::guard::note;

/// What the directory that is not in memory is called.
pub(crate) const ON_DISK: &str = "disk";

/// Where files are on a disk, and where they are in memory alone.
const PLACES: [&str; 2] = ["/tmp", "/dev/shm"];

/// A private directory on a disk.
///
/// # Panics
/// When it cannot be made.
pub(crate) fn on_disk() -> tempfile::TempDir {
    private_directory(Path::new(PLACES[0]))
}

/// Private directories by the name of what they are on: a disk, and where there is one, memory.
pub(crate) fn everywhere() -> Vec<(&'static str, tempfile::TempDir)> {
    let memory = PathBuf::from(PLACES[1]);
    let mut directories = vec![(ON_DISK, on_disk())];
    if memory.is_dir() {
        directories.push(("tmpfs", private_directory(&memory)));
    }
    directories
}

fn private_directory(place: &Path) -> tempfile::TempDir {
    let directory = tempfile::Builder::new()
        .prefix("swarm-bench.")
        .tempdir_in(place)
        .expect("a directory to measure in");
    note(directory.path());
    directory
}
