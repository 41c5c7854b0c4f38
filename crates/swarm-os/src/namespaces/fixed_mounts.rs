//! The entries that cannot be changed, while a sandbox exists.

use std::collections::HashMap;
use std::path::PathBuf;

use super::bind::MountError;
use super::fixed::{FixedEntry, FixedKind};
use super::placeholders::Placeholders;

/// Entries that are mounted in a mount namespace, and their placeholders.
#[derive(Debug, Default)]
pub struct FixedMounts {
    mounted: HashMap<PathBuf, FixedKind>,
    placeholders: Placeholders,
}

impl FixedMounts {
    /// Creates the placeholders of the entries of a [`MountView`](super::MountView), which the first
    /// process inside mounts. Call it before the namespaces are created.
    ///
    /// # Errors
    /// [`MountError`] if a placeholder cannot be created.
    pub fn reserve(&mut self, fixed: &[FixedEntry]) -> Result<(), MountError> {
        for entry in fixed {
            self.placeholders.create(entry)?;
            self.mounted.insert(entry.path.clone(), entry.kind);
        }
        Ok(())
    }

    /// Mounts the entries that are not mounted yet, that have changed their kind, or whose file was
    /// replaced from outside. Call it in the mount namespace.
    ///
    /// # Errors
    /// The first [`MountError`]. Only the entries that failed are mounted by the next call.
    pub fn update(&mut self, fixed: &[FixedEntry]) -> Result<(), MountError> {
        let changed = fixed.iter().filter(|entry| {
            self.mounted.get(&entry.path) != Some(&entry.kind) || !entry.is_mounted()
        });
        let changed: Vec<&FixedEntry> = changed.collect();
        // Pinned entries below a directory are mounted before it.
        for entry in &changed {
            entry.uncover();
        }
        let mut result = Ok(());
        for entry in changed {
            let created = self.placeholders.create(entry);
            match created.and_then(|()| entry.mount()) {
                Ok(()) => {
                    self.mounted.insert(entry.path.clone(), entry.kind);
                }
                Err(error) => {
                    self.mounted.remove(&entry.path);
                    result = result.and(Err(error));
                }
            }
        }
        result
    }

    /// Removes the placeholders that no other sandbox uses. Call it in the mount namespace after every
    /// other process in it has ended.
    pub fn remove(self) {
        self.placeholders.remove();
    }
}
