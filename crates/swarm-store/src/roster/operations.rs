//! Operations on the roster.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use swarm_protocol::{
    BackendType, LeadProcess, Member, MemberName, PaneId, PauseMark, PermissionMode, SpawnId,
    TeamConfig,
};

use crate::{NewMember, ReconcileReport, RemovedMember, Result, StoppedSpawn};

/// The members of a team and its lead process.
#[async_trait]
pub trait Roster: Send + Sync {
    /// Returns the roster.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the file is not a valid roster; it is left unchanged.
    async fn config(&self) -> Result<TeamConfig>;

    /// Returns the roster as far as this handle has heard of its changes, if that saves a request
    /// to a server; otherwise reads it.
    ///
    /// # Errors
    /// Like [`Self::config`].
    async fn known_config(&self) -> Result<TeamConfig>;

    /// Removes a member from the roster and releases its open tasks without counting an attempt.
    /// With `stopped`, only if the entry still belongs to that spawn, whose end is then in the
    /// journal, once, before the member leaves the roster. Returns `None` if nothing was removed.
    /// Its inbox is kept.
    async fn remove_member(
        &self,
        name: &MemberName,
        stopped: Option<&StoppedSpawn>,
    ) -> Result<Option<RemovedMember>>;

    /// Returns the last roster entry of a removed member.
    async fn former_member(&self, name: &MemberName) -> Result<Option<Member>>;

    /// Sets whether a member is in a turn (`isActive`).
    async fn set_active(&self, name: &MemberName, active: bool) -> Result<()>;

    /// Adds an absolute directory in which all later members of the team may use a tool
    /// (`teamAllowedPaths`).
    async fn add_allowed_path(&self, path: &str, tool: &str) -> Result<()>;

    /// Removes such a directory.
    async fn remove_allowed_path(&self, path: &str, tool: &str) -> Result<()>;

    /// Sets the permission mode of a member (`mode`).
    async fn set_mode(&self, name: &MemberName, mode: PermissionMode) -> Result<()>;

    /// Sets or clears the lead process.
    ///
    /// # Errors
    /// [`StoreError::LeadAlive`] if another running process leads the team.
    async fn set_lead_process(&self, lead: Option<LeadProcess>) -> Result<()>;

    /// Sets the conversation and the model of the lead process.
    async fn set_lead_session(&self, session_id: &str, model: &str) -> Result<()>;

    /// Clears the lead process if it is still `lost`.
    ///
    /// # Errors
    /// [`StoreError::LeadAlive`] if a process leads the team.
    async fn clear_lost_lead(&self, lost: &LeadProcess) -> Result<()>;

    /// Sets or clears the pause mark of a member's current spawn. Returns the previous mark; an
    /// existing mark is kept.
    ///
    /// # Errors
    /// [`StoreError::MemberNotFound`], and [`StoreError::SpawnGone`] if the mark is for another
    /// spawn.
    async fn set_paused(
        &self,
        name: &MemberName,
        mark: Option<&PauseMark>,
    ) -> Result<Option<PauseMark>>;
}

/// New members: spawns in progress, and members of other programs.
#[async_trait]
pub trait Spawns: Send + Sync {
    /// Reserves a roster entry for a spawn, with a colour and an inbox that has the prompt as first
    /// message. The entry of a dead member of that name is replaced, and restored if the spawn is
    /// aborted. Reconciliation of the name is added to `done`, even on failure: the caller
    /// terminates the processes that are left.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`] if the name, or one that maps to the same files, is in use.
    async fn reserve_into(&self, new: NewMember, done: &mut ReconcileReport) -> Result<Member>;

    /// Like [`Self::reserve_into`], for names that no earlier member had.
    ///
    /// # Errors
    /// The same errors.
    async fn reserve(&self, new: NewMember) -> Result<Member> {
        self.reserve_into(new, &mut ReconcileReport::default())
            .await
    }

    /// Turns a reservation into a member: sets where it runs and removes the reservation.
    /// Idempotent.
    ///
    /// # Errors
    /// [`StoreError::SpawnGone`] if the reservation was rolled back.
    async fn commit_spawn(
        &self,
        spawn: &SpawnId,
        pane: PaneId,
        backend: BackendType,
        socket: Option<PathBuf>,
    ) -> Result<Member>;

    /// Undoes a reservation and restores roster and inbox. Mail that others sent to the reserved
    /// member is kept. Does nothing for unknown and committed spawns; returns whether a reservation
    /// was undone.
    async fn abort_spawn(&self, spawn: &SpawnId, reason: &str) -> Result<bool>;

    /// Adds a member that another program runs, and that joined or will join by itself.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`] if the name, or one that maps to the same files, is in use.
    async fn add_external(&self, name: &MemberName, cwd: &Path) -> Result<Member>;
}
