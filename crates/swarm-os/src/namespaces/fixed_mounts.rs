//! The entries that cannot be changed, while a sandbox exists.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io;
use rustix::mount::{
    MountFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount_bind_recursive, move_mount,
    open_tree, unmount,
};

use super::bind::{MountError, at, bind_itself, lock};
use super::fixed::{FixedEntry, FixedKind};
use super::placeholders::Placeholders;

/// Entries that are mounted in a mount namespace, and their placeholders.
#[derive(Debug, Default)]
pub struct FixedMounts {
    mounted: HashMap<PathBuf, FixedMount>,
    placeholders: Placeholders,
}

#[derive(Debug)]
struct FixedMount {
    kind: FixedKind,
    /// What is below a read-only mount, still writable.
    below: Option<OwnedFd>,
}

impl FixedMounts {
    /// Mounts the entries that are not mounted yet, that have changed their kind, or whose file was
    /// replaced from outside. Call it in the mount namespace and with rights over it; it applies to all
    /// processes in it. What was created at a reserved path in the meantime becomes visible and stays
    /// read-only.
    ///
    /// # Errors
    /// The first [`MountError`]. Only the entries that failed are mounted by the next call.
    pub fn update(&mut self, fixed: &[FixedEntry]) -> Result<(), MountError> {
        let changed = fixed.iter().filter(|entry| {
            let known = self.mounted.get(&entry.path).map(|mounted| mounted.kind);
            known != Some(entry.kind) || !entry.is_mounted()
        });
        let changed: Vec<&FixedEntry> = changed.collect();
        // Pinned entries below a directory are mounted before it.
        for entry in &changed {
            if entry.is_covered() {
                unmount(&entry.path, UnmountFlags::DETACH).map_err(at("uncover", &entry.path))?;
            }
        }
        let mut result = Ok(());
        for entry in changed {
            let mounted = self.placeholders.create(entry);
            if let Err(error) = mounted.and_then(|()| self.mount(entry)) {
                self.mounted.remove(&entry.path);
                result = result.and(Err(error));
            }
        }
        result
    }

    /// Removes the placeholders that no other sandbox uses. Call it in the mount namespace after every
    /// other process in it has ended.
    pub fn remove(self) {
        self.placeholders.remove();
    }

    fn mount(&mut self, entry: &FixedEntry) -> Result<(), MountError> {
        let (path, kind) = (entry.path.as_path(), entry.kind);
        // A link can be replaced, whatever is mounted at its target.
        let is_usual = path
            .symlink_metadata()
            .is_ok_and(|found| !found.is_symlink());
        let below = match kind {
            _ if !is_usual => None,
            FixedKind::Pinned => {
                self.pin(path)?;
                None
            }
            _ => Some(self.protect(entry)?),
        };
        let mounted = FixedMount { kind, below };
        self.mounted.insert(entry.path.clone(), mounted);
        Ok(())
    }

    /// Mounts a directory onto itself, writable even if a directory above it has become read-only.
    fn pin(&self, path: &Path) -> Result<(), MountError> {
        let writable = path.ancestors().skip(1).find_map(|above| {
            let below = self.mounted.get(above)?.below.as_ref()?;
            Some((below, path.strip_prefix(above).ok()?))
        });
        match writable {
            Some((directory, inner)) => {
                mount_below(directory, inner, path).map_err(at("mount", path))
            }
            None => bind_itself(path),
        }
    }

    /// Makes an entry read-only, and covers a placeholder if necessary. The cover is a second mount, so that
    /// nothing is writable when it is removed. Returns what is below the mounts.
    fn protect(&mut self, entry: &FixedEntry) -> Result<OwnedFd, MountError> {
        let path = entry.path.as_path();
        let known = self.mounted.remove(path).filter(|_| entry.is_mounted());
        let below = if let Some(below) = known.and_then(|mounted| mounted.below) {
            below
        } else {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let below = openat(CWD, path, flags, Mode::empty()).map_err(at("open", path))?;
            bind_itself(path)?;
            lock_or_unmount(path)?;
            below
        };
        if let Some(cover) = entry.cover() {
            mount_bind_recursive(cover, path).map_err(at("reserve", path))?;
            lock_or_unmount(path)?;
        }
        Ok(below)
    }
}

/// Mounts what is below a directory, as seen through its file descriptor.
fn mount_below(directory: &OwnedFd, inner: &Path, target: &Path) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let tree = open_tree(directory, inner, flags)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(tree, "", CWD, target, flags)
}

fn lock_or_unmount(path: &Path) -> Result<(), MountError> {
    lock(path, MountFlags::empty()).inspect_err(|_| {
        unmount(path, UnmountFlags::DETACH).unwrap_or_default();
    })
}
