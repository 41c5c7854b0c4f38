//! Which directories outside of main checkouts hold worktrees, and of which repository.
//!
//! The list lies below swarm's own config directory. Nothing beside the worktrees is believed: a clone may bring any file along,
//! and whoever may write beside a checkout may put one there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_os::{ensure_private_dir, fingerprint, read_optional, replace_alone};

use crate::{Occupants, WorktreeError};

/// The list: a file for each directory.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    files: PathBuf,
    /// Who works where.
    pub(crate) occupants: Occupants,
}

/// A directory that holds worktrees.
#[derive(Debug, Serialize, Deserialize)]
struct Place {
    directory: PathBuf,
    /// Git's directory for all checkouts of the repository.
    common: PathBuf,
}

impl Places {
    /// The list in this directory of swarm's own.
    pub(crate) fn below(own: &Path) -> Self {
        Self {
            files: own.join("places"),
            occupants: Occupants::default(),
        }
    }

    /// Writes down that a directory holds the worktrees of a repository.
    pub(crate) fn enter(&self, directory: &Path, common: &Path) -> Result<(), WorktreeError> {
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

    /// Git's common directory of the repository whose worktrees a directory holds.
    pub(crate) fn repository_of(&self, directory: &Path) -> Result<Option<PathBuf>, WorktreeError> {
        let place = read(&self.file(directory))?.filter(|place| place.directory == directory);
        Ok(place.map(|place| place.common))
    }

    /// The directories that hold worktrees of a repository.
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
            // One that cannot be read makes no directory a place.
            match read(&path) {
                Ok(Some(place)) if place.common == common => directories.push(place.directory),
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "place of worktrees not read"),
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
