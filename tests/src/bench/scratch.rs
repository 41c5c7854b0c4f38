//! Directories for measurements.

use std::path::{Path, PathBuf};

use crate::guard::note;

/// Name of the directory that is not in memory.
pub(crate) const ON_DISK: &str = "disk";

/// Paths of files on a disk, and in memory.
const PLACES: [&str; 2] = ["/tmp", "/dev/shm"];

/// Creates a private directory on a disk.
///
/// # Panics
/// If it cannot be created.
pub(crate) fn on_disk() -> tempfile::TempDir {
    private_directory(Path::new(PLACES[0]))
}

/// Returns private directories by the name of their storage: a disk, and memory if available.
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
