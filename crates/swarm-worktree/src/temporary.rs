//! Temporary directories in swarm's directory of the shared git directory.

use std::fs;
use std::path::{Path, PathBuf};

use swarm_os::ensure_private_dir;
use swarm_os::process::ProcessStat;
use uuid::Uuid;

use crate::Result;
use crate::repository::Repository;

/// Prefix of their names, followed by the pid of their creator.
const PREFIX: &str = "view-";

/// A private directory that is removed on drop.
#[derive(Debug)]
pub(crate) struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    pub(crate) fn create(repository: &Repository) -> Result<Self> {
        let name = format!("{PREFIX}{}-{}", std::process::id(), Uuid::new_v4());
        let created = Self(repository.own_directory().join(name));
        ensure_private_dir(created.path())?;
        Ok(created)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::debug!(path = %self.0.display(), %error, "temporary directory not removed");
        }
    }
}

/// Removes temporary directories of dead processes.
pub(crate) fn clear(repository: &Repository) {
    let Ok(entries) = fs::read_dir(repository.own_directory()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('-').next());
        if maker.is_some_and(is_gone)
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            tracing::debug!(%error, "temporary directory of a dead process not removed");
        }
    }
}

/// Returns whether no process has this pid. Also `true` if the text is not a pid.
fn is_gone(pid: &str) -> bool {
    pid.parse()
        .map_or(true, |pid| ProcessStat::of(pid).is_none())
}
