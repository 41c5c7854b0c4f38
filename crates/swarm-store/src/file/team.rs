//! One team of a [`FileStore`], and the locks of its files.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use swarm_os::process::Identity;
use swarm_os::{LockGuard, LockPlan, OsError};
use swarm_protocol::{MemberName, ROOT_VARIABLE, TeamName, UnixMs};

use crate::file::hub_file;
use crate::file::layout::TeamLayout;
use crate::file::store::FileStore;
use crate::reconcile::is_outdated;
use crate::{Orders, ReconcileReport, Result, StoreError, TeamDamage, TeamView};

/// The handle of a team, which need not exist. Each subject's operations are in a module of their
/// own.
#[derive(Debug, Clone)]
pub(crate) struct FileTeam {
    pub(crate) store: FileStore,
    pub(crate) team: TeamName,
    pub(crate) at: TeamLayout,
    /// Whether the team is still being created.
    pub(crate) is_aside: bool,
}

impl FileTeam {
    pub(crate) fn location(&self) -> String {
        self.at.directory().display().to_string()
    }

    /// Members' processes have the config directory in their environment.
    pub(crate) fn identity(&self) -> Identity {
        Identity::new(ROOT_VARIABLE, self.store.layout.root())
    }

    pub(crate) fn is_stored(&self) -> Result<bool> {
        is_surely_there(self.at.directory())
    }

    pub(crate) fn damage(&self) -> Option<TeamDamage> {
        let why = if self.exists() {
            self.fault_of_directories().or_else(|| self.config().err())
        } else {
            self.lack_of_roster()
        };
        // The team was deleted meanwhile.
        let why = why.filter(|why| !matches!(why, StoreError::TeamNotFound { .. }))?;
        let may_live = self.has_held_life_lock().unwrap_or(true);
        Some(TeamDamage { why, may_live })
    }

    #[expect(clippy::unused_self, reason = "other kinds may be")]
    pub(crate) fn is_remote(&self) -> bool {
        false
    }

    #[expect(clippy::unused_self, reason = "other kinds have a server")]
    pub(crate) fn received(&self) -> u64 {
        0
    }

    #[expect(clippy::unused_self, reason = "other kinds have some")]
    pub(crate) fn orders_for_nodes(&self) -> Option<Orders> {
        None
    }

    #[expect(clippy::unused_self, reason = "other kinds may be")]
    pub(crate) fn is_joined(&self) -> bool {
        false
    }

    pub(crate) fn is_foreign(&self) -> bool {
        self.exists() && !is_there(&self.at.locks())
    }

    pub(crate) fn delete(&self, purge: bool, force: bool) -> Result<Option<PathBuf>> {
        if force && self.hub_damage().is_some() {
            // The team itself is on the hub.
            swarm_os::remove_tree(self.at.directory())?;
            return Ok(None);
        }
        self.refuse_if_gone(force)?;
        // Prevents a concurrent sweep from removing the half-deleted team.
        let deleted = self
            .store
            .with_teams_lock(|| self.delete_alone(purge, force));
        deleted.map_err(|error| self.explain(error))
    }

    pub(crate) fn may_delete(&self, force: bool) -> Result<()> {
        self.refuse_deletion(&self.config()?, force)
    }

    /// Returns whether the team needs reconciliation.
    pub(crate) fn needs_reconcile(&self) -> Result<bool> {
        Ok(self.has_letters() || !self.findings(&self.config()?, |_| true)?.is_empty())
    }

    pub(crate) fn reconcile_into(&self, done: &mut ReconcileReport) -> Result<()> {
        self.retry_letters();
        self.with_roster_lock(|held| {
            let mut config = self.read_config()?;
            self.reconcile_some(held, &mut config, |_| true, done)
        })
    }

    pub(crate) fn view(&self) -> Result<TeamView> {
        let config = self.config()?;
        // The views are large: a list that grew would be copied several times.
        let mut members = Vec::with_capacity(config.members.len());
        for member in &config.members {
            members.push(self.view_of(&config, member)?);
        }
        let last_life = |name: &MemberName| self.life_record(name);
        let is_outdated = is_outdated(&config, &members, self.now(), last_life)?;
        Ok(TeamView {
            is_foreign: self.is_foreign(),
            config,
            members,
            needs_reconcile: is_outdated || self.has_letters(),
        })
    }
}

impl FileTeam {
    pub(crate) fn now(&self) -> UnixMs {
        self.store.clock.now()
    }

    /// All processes of the team are on this machine.
    #[expect(clippy::unnecessary_wraps, reason = "other kinds ask a server")]
    pub(crate) fn server_time(&self) -> Result<UnixMs> {
        Ok(self.now())
    }

    pub(crate) fn exists(&self) -> bool {
        self.at.config().is_file()
    }

    /// Runs `work` with the roster locked. The task list, requests or an inbox may be locked
    /// meanwhile.
    pub(crate) fn with_roster_lock<T>(
        &self,
        work: impl FnOnce(&LockGuard) -> Result<T>,
    ) -> Result<T> {
        self.locked(&self.at.config_lock(), &[self.at.config()], work)
    }

    /// Runs `work` with an inbox locked. No other lock may be taken meanwhile.
    pub(crate) fn with_inbox_lock<T>(
        &self,
        name: &MemberName,
        work: impl FnOnce(&LockGuard) -> Result<T>,
    ) -> Result<T> {
        self.with_inbox_lock_after(name, || (), |held, ()| work(held))
    }

    /// Like [`Self::with_inbox_lock`]; `prepare` runs before the wait for the lock, and what it opens
    /// belongs to the locked team.
    pub(crate) fn with_inbox_lock_after<P, T>(
        &self,
        name: &MemberName,
        prepare: impl FnOnce() -> P,
        work: impl FnOnce(&LockGuard, P) -> Result<T>,
    ) -> Result<T> {
        let sidecar = self.at.inbox_lock(name);
        if !is_there(&sidecar) {
            // A member added by another program has no sidecar yet. In a deleted team its directory
            // is missing.
            let created = self
                .refuse_links()
                .and_then(|()| refuse_linked_directory(&sidecar))
                .and_then(|()| Ok(swarm_os::create_sidecar(&sidecar)?));
            created.map_err(|error| self.explain(error))?;
        }
        self.locked_after(&sidecar, &[self.at.inbox(name)], prepare, work)
    }

    /// Runs `work` with the request queue locked. Other programs do not use the queue.
    pub(crate) fn with_requests_lock<T>(
        &self,
        work: impl FnOnce(&LockGuard) -> Result<T>,
    ) -> Result<T> {
        let sidecar = self.at.requests_lock();
        // If flock is not used, the lock directory of the sidecar provides exclusion.
        self.locked(&sidecar, std::slice::from_ref(&sidecar), work)
    }

    pub(crate) fn locked<T>(
        &self,
        sidecar: &Path,
        data: &[PathBuf],
        work: impl FnOnce(&LockGuard) -> Result<T>,
    ) -> Result<T> {
        self.locked_after(sidecar, data, || (), |held, ()| work(held))
    }

    fn locked_after<P, T>(
        &self,
        sidecar: &Path,
        data: &[PathBuf],
        prepare: impl FnOnce() -> P,
        work: impl FnOnce(&LockGuard, P) -> Result<T>,
    ) -> Result<T> {
        let mut paths = data.iter().map(PathBuf::as_path).chain([sidecar]);
        let done = self
            .refuse_links()
            .and_then(|()| paths.try_for_each(refuse_linked_directory))
            .and_then(|()| {
                let plan = LockPlan { sidecar, data };
                swarm_os::with_lock_after(&plan, &self.store.lock_options, prepare, work)
            });
        done.map_err(|error| self.explain(error))
    }

    /// Rejects a team with a symlinked directory, because its target may belong to other programs.
    /// The parent directories of all teams may be symlinks, for example to another disk.
    pub(crate) fn refuse_links(&self) -> Result<()> {
        swarm_os::check_own_dir(self.at.directory())?;
        Ok(swarm_os::check_own_dir(&self.at.own())?)
    }

    /// Replaces a "file not found" error, usually by [`StoreError::TeamNotFound`].
    pub(crate) fn explain(&self, error: StoreError) -> StoreError {
        if !matches!(error, StoreError::Fs(OsError::Gone(_))) {
            return error;
        }
        if !self.exists() {
            return self.not_found();
        }
        if self.is_foreign() {
            StoreError::ForeignTeam(self.location())
        } else {
            error
        }
    }

    /// Returns the damage of `swarm/hub.json`, without which a team on a hub is opened in files.
    pub(crate) fn hub_damage(&self) -> Option<StoreError> {
        let read = hub_file::read(&self.store.layout, &self.team);
        read.err()
            .filter(|error| matches!(error, StoreError::Damaged { .. }))
    }

    pub(crate) fn not_found(&self) -> StoreError {
        if let Some(damage) = self.hub_damage() {
            return damage;
        }
        let mut known = self.store.directory_names().unwrap_or_default();
        known.retain(|name| {
            let is_on_hub = || hub_file::path(&self.store.layout, name).exists();
            self.store.files(name).exists() || is_on_hub()
        });
        StoreError::TeamNotFound {
            team: self.team.clone(),
            known,
            remains: is_there(&self.at.own()).then(|| self.at.directory().to_owned()),
        }
    }
}

/// Rejects a file whose directory is a symlink.
pub(crate) fn refuse_linked_directory(path: &Path) -> Result<()> {
    match path.parent() {
        Some(directory) => Ok(swarm_os::check_own_dir(directory)?),
        None => Ok(()),
    }
}

/// Returns whether a path exists, or an error if that is unknown. For decisions that may lose data.
pub(crate) fn is_surely_there(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StoreError::Fs(OsError::io(path, "look at", source))),
    }
}

/// Returns whether a path exists.
pub(crate) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
