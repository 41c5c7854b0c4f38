//! Entries of writable directories that a sandbox cannot change.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount_bind_recursive};

use super::bind::{MountError, at, bind_itself, lock};

/// Directory that covers reserved directories: read-only, and ignored by git.
pub(super) const RESERVED: &str = "/dev/.reserved";

/// An entry below a writable directory that a sandbox cannot change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FixedEntry {
    /// Its path, without symbolic links.
    pub path: PathBuf,
    /// What cannot be changed.
    pub kind: FixedKind,
}

/// What of a [`FixedEntry`] cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FixedKind {
    /// A directory keeps its place, and stays writable unless a directory above it is read-only.
    Pinned,
    /// A file or directory is read-only. Skipped if it does not exist.
    ReadOnly,
    /// Nothing can be created at this path. Until the sandbox ends, it is an empty directory, which
    /// git does not see.
    ReservedDirectory,
    /// The same for `commondir` in the directory of a main checkout: a file that names this directory
    /// itself, which for git is the same as no file (`gitrepository-layout(5)`).
    ReservedCommonDirectory,
}

impl FixedEntry {
    /// Whether a placeholder has to exist.
    pub(super) fn is_reserved(&self) -> bool {
        matches!(
            self.kind,
            FixedKind::ReservedDirectory | FixedKind::ReservedCommonDirectory
        )
    }

    /// Mounts the entry. Call it with rights over the mount namespace; it applies to all processes in
    /// it. What was created at a reserved path in the meantime becomes read-only. Never makes anything
    /// writable, so a process inside that replaces a directory by a link gains nothing.
    ///
    /// # Errors
    /// [`MountError`]; the entry may be changed.
    pub fn mount(&self) -> Result<(), MountError> {
        let path = self.path.as_path();
        let Ok(found) = path.symlink_metadata() else {
            return Ok(());
        };
        if found.is_symlink() {
            // The link can be replaced, whatever is mounted at its target.
            return Ok(());
        }
        match self.kind {
            FixedKind::Pinned => bind_itself(path),
            FixedKind::ReservedDirectory if is_empty_directory(path) => {
                mount_bind_recursive(RESERVED, path).map_err(at("reserve", path))?;
                lock(path, MountFlags::empty())
            }
            _ => {
                bind_itself(path)?;
                lock(path, MountFlags::empty())
            }
        }
    }
}

pub(super) fn is_empty_directory(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}
