//! Builds single entries that commands cannot change.

use std::path::{Path, PathBuf};

use swarm_os::namespaces::{FixedEntry, FixedKind};

pub(super) fn entry(path: PathBuf, kind: FixedKind) -> FixedEntry {
    FixedEntry { path, kind }
}

pub(super) fn read_only(directory: &Path, names: &[&str]) -> impl Iterator<Item = FixedEntry> {
    let paths = names.iter().map(|name| directory.join(name));
    let existing = paths.filter(|path| exists(path));
    existing.map(|path| entry(path, FixedKind::ReadOnly))
}

pub(super) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Returns a reserved entry if nothing exists there or only a placeholder, which another agent uses or
/// has left; otherwise a read-only one.
pub(super) fn existing_or_reserved(path: PathBuf, kind: FixedKind) -> FixedEntry {
    let is_missing = !exists(&path);
    let reserved = entry(path, kind);
    if is_missing || reserved.is_placeholder() {
        return reserved;
    }
    entry(reserved.path, FixedKind::ReadOnly)
}
