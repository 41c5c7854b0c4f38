//! Paths without `.` and `..`.

use std::path::{Component, Path, PathBuf};

/// Returns a path with `.` and `..` resolved lexically, without looking at the file system.
pub fn folded_path(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                folded.pop();
            }
            Component::CurDir => {}
            other => folded.push(other),
        }
    }
    folded
}
