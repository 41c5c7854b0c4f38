//! Index of the directories outside of main checkouts that contain worktrees, with their
//! repositories. The registry is in swarm's config directory. Files next to the worktrees are not
//! trusted: they may be part of a clone, or written by another user or agent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_os::{ensure_private_dir, fingerprint, read_optional, replace_alone};

use crate::WorktreeError;
use crate::usage::KnownOccupants;

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
    pub(crate) fn add(&self, directory: &Path, common: &Path) -> Result<(), WorktreeError> {
        if self.repository_of(directory)?.as_deref() == Some(common) {
            return Ok(());
        }
        ensure_private_dir(&self.files)?;
        let path = self.file(directory);
        let place = Place {
            directory: directory.to_owned(),
            common: common.to_owned(),
        };
        let bytes = serde_json::to_vec_pretty(&place).map_err(|error| damaged(&path, &error))?;
        Ok(replace_alone(&path, &bytes)?)
    }

    /// Returns the shared git directory of the repository whose worktrees a directory contains.
    pub(crate) fn repository_of(&self, directory: &Path) -> Result<Option<PathBuf>, WorktreeError> {
        let place = read(&self.file(directory))?.filter(|place| place.directory == directory);
        Ok(place.map(|place| place.common))
    }

    /// Returns the directories that contain worktrees of a repository.
    pub(crate) fn of_repository(&self, common: &Path) -> Result<Vec<PathBuf>, WorktreeError> {
        let entries = match fs::read_dir(&self.files) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|source| WorktreeError::Read {
                path: self.files.clone(),
                source,
            })?,
        };
        let mut directories = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            // An unreadable entry is skipped: its directory does not count.
            match read(&path) {
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

fn read(path: &Path) -> Result<Option<Place>, WorktreeError> {
    let Some(bytes) = read_optional(path)? else {
        return Ok(None);
    };
    let parsed = serde_json::from_slice(&bytes);
    parsed.map(Some).map_err(|error| damaged(path, &error))
}

fn damaged(path: &Path, error: &serde_json::Error) -> WorktreeError {
    WorktreeError::Damaged {
        path: path.to_owned(),
        why: error.to_string(),
    }
}
