//! One team of a [`FileStore`], and the locks of its files.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use swarm_fs::{FsError, Held, LockPlan};
use swarm_protocol::{MemberName, TeamName, UnixMs};

use crate::layout::TeamLayout;
use crate::{FileStore, Result, StoreError};

/// A team by name, whether or not it exists. What it can do is told by the modules of each subject.
#[derive(Debug)]
pub(crate) struct TeamFiles<'a> {
    pub(crate) store: &'a FileStore,
    pub(crate) team: &'a TeamName,
    pub(crate) at: TeamLayout,
    /// Whether it is being built and may come to nothing.
    pub(crate) is_aside: bool,
}

impl TeamFiles<'_> {
    pub(crate) fn now(&self) -> UnixMs {
        self.store.clock.now()
    }

    pub(crate) fn exists(&self) -> bool {
        self.at.config().is_file()
    }

    /// Holds the roster. May be held while taking the task list, requests or an inbox.
    pub(crate) fn with_roster_lock<T>(&self, work: impl FnOnce(&Held) -> Result<T>) -> Result<T> {
        self.locked(&self.at.config_lock(), &[self.at.config()], work)
    }

    /// Holds an inbox. No other lock may be taken while it is held.
    pub(crate) fn with_inbox_lock<T>(
        &self,
        name: &MemberName,
        work: impl FnOnce(&Held) -> Result<T>,
    ) -> Result<T> {
        let sidecar = self.at.inbox_lock(name);
        if !is_there(&sidecar) {
            // A member that another program entered has none yet. A deleted team has no folder for it either.
            self.refuse_links()?;
            refuse_linked_folder(&sidecar)?;
            swarm_fs::create_sidecar(&sidecar)?;
        }
        self.locked(&sidecar, &[self.at.inbox(name)], work)
    }

    /// Holds the queue of requests, which no other program knows.
    pub(crate) fn with_requests_lock<T>(&self, work: impl FnOnce(&Held) -> Result<T>) -> Result<T> {
        let sidecar = self.at.requests_lock();
        // Where the flock is left out, the lock directory of the sidecar itself excludes.
        self.locked(&sidecar, std::slice::from_ref(&sidecar), work)
    }

    pub(crate) fn locked<T>(
        &self,
        sidecar: &Path,
        data: &[PathBuf],
        work: impl FnOnce(&Held) -> Result<T>,
    ) -> Result<T> {
        self.refuse_links()?;
        for path in data.iter().map(PathBuf::as_path).chain([sidecar]) {
            refuse_linked_folder(path)?;
        }
        let plan = LockPlan { sidecar, data };
        swarm_fs::with_lock(&plan, &self.store.lock_options, work)
    }

    /// Refuses a team of which a folder is a link: what it leads to is not ours to write into. The folders around all
    /// teams may be links, to another disk say.
    pub(crate) fn refuse_links(&self) -> Result<()> {
        swarm_fs::check_own_dir(self.at.folder())?;
        Ok(swarm_fs::check_own_dir(&self.at.own())?)
    }

    /// Says what a missing file means: usually that there is no such team.
    pub(crate) fn explain(&self, error: StoreError) -> StoreError {
        if !matches!(error, StoreError::Fs(FsError::Gone { .. })) {
            return error;
        }
        if !self.exists() {
            return self.not_found();
        }
        if self.is_foreign() {
            StoreError::ForeignTeam {
                path: self.at.folder().to_owned(),
            }
        } else {
            error
        }
    }

    /// Whether another program made it: there is a roster, and nothing of ours to lock it with.
    pub(crate) fn is_foreign(&self) -> bool {
        self.exists() && !is_there(&self.at.locks())
    }

    pub(crate) fn not_found(&self) -> StoreError {
        StoreError::TeamNotFound {
            team: self.team.clone(),
            known: self.store.team_names().unwrap_or_default(),
            remains: is_there(&self.at.own()).then(|| self.at.folder().to_owned()),
        }
    }
}

/// Refuses a file whose folder is a link.
pub(crate) fn refuse_linked_folder(path: &Path) -> Result<()> {
    match path.parent() {
        Some(folder) => Ok(swarm_fs::check_own_dir(folder)?),
        None => Ok(()),
    }
}

/// Whether there is anything at a path; an error where that cannot be told. For decisions that lose something when they are
/// wrong.
pub(crate) fn is_surely_there(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StoreError::Fs(FsError::Io {
            path: path.to_owned(),
            op: "look at",
            source,
        })),
    }
}

/// Whether there is anything at a path.
pub(crate) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
