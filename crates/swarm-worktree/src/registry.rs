//! Index of the directories outside of main checkouts that contain worktrees, with their
//! repositories. The registry is in swarm's config directory. Files next to the worktrees are not
//! trusted: they may be part of a clone, or written by another user or agent.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_os::{ensure_private_dir, fingerprint};

use crate::usage::KnownOccupants;
use crate::{Result, json_file};

/// The registry: one file per directory.
#[derive(Debug, Clone)]
pub(crate) struct WorktreeRegistry {
    files: PathBuf,
    /// The agents and their working directories.
    pub(crate) occupants: KnownOccupants,
}

/// A directory that contains worktrees.
#[derive(Debug, Serialize, Deserialize)]
struct Place {
    directory: PathBuf,
    /// Git directory shared by all checkouts of the repository.
    common: PathBuf,
}

impl WorktreeRegistry {
    /// Returns the registry below swarm's directory `own`.
    pub(crate) fn below(own: &Path) -> Self {
        Self {
            files: own.join("places"),
            occupants: KnownOccupants::default(),
        }
    }

    /// Records that a directory contains the worktrees of a repository.
    pub(crate) fn add(&self, directory: &Path, common: &Path) -> Result<()> {
        if self.repository_of(directory)?.as_deref() == Some(common) {
            return Ok(());
        }
        ensure_private_dir(&self.files)?;
        let place = Place {
            directory: directory.to_owned(),
            common: common.to_owned(),
        };
        json_file::write(&self.file(directory), &place)
    }

    /// Returns the shared git directory of the repository whose worktrees a directory contains.
    pub(crate) fn repository_of(&self, directory: &Path) -> Result<Option<PathBuf>> {
        let place = json_file::read::<Place>(&self.file(directory))?;
        let place = place.filter(|place| place.directory == directory);
        Ok(place.map(|place| place.common))
    }

    /// Returns the directories that contain worktrees of a repository.
    pub(crate) fn of_repository(&self, common: &Path) -> Result<Vec<PathBuf>> {
        let mut directories = Vec::new();
        for path in json_file::paths_in(&self.files)? {
            // An unreadable entry is skipped: its directory does not count.
            match json_file::read::<Place>(&path) {
                Ok(Some(place)) if place.common == common => directories.push(place.directory),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "could not read an entry of the worktree registry");
                }
            }
        }
        Ok(directories)
    }

    fn file(&self, directory: &Path) -> PathBuf {
        self.files.join(format!(
            "{:016x}.json",
            fingerprint(directory.as_os_str().as_encoded_bytes())
        ))
    }
}
