//! Folders to measure in.

use std::path::{Path, PathBuf};

use crate::guard::note;

/// What the folder that is not in memory is called.
pub(crate) const ON_DISK: &str = "disk";

/// Where files are on a disk, and where they are in memory alone.
const PLACES: [&str; 2] = ["/tmp", "/dev/shm"];

/// A private folder on a disk.
///
/// # Panics
/// When it cannot be made.
pub(crate) fn on_disk() -> tempfile::TempDir {
    private_folder(Path::new(PLACES[0]))
}

/// Private folders by the name of what they are on: a disk, and where there is one, memory.
pub(crate) fn everywhere() -> Vec<(&'static str, tempfile::TempDir)> {
    let memory = PathBuf::from(PLACES[1]);
    let mut folders = vec![(ON_DISK, on_disk())];
    if memory.is_dir() {
        folders.push(("tmpfs", private_folder(&memory)));
    }
    folders
}

fn private_folder(place: &Path) -> tempfile::TempDir {
    let folder = tempfile::Builder::new()
        .prefix("swarm-bench.")
        .tempdir_in(place)
        .expect("a folder to measure in");
    note(folder.path());
    folder
}
