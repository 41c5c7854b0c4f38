//! The trait that every backend implements.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use swarm_protocol::{BackendType, SpawnId, TeamName};

use crate::{
    Pane, PaneCommand, PaneError, PaneSpec, PaneStatus, PaneText, Started, TaggedPane, WindowView,
};

/// A way to run members in panes or processes. Every method that takes a [`Pane`] works from any
/// process that knows its id and socket, not only from the one that opened it. Call within a tokio
/// runtime with I/O and time enabled.
#[async_trait]
pub trait PaneBackend: Send + Sync + fmt::Debug {
    /// Returns the value used in the roster.
    fn kind(&self) -> BackendType;

    /// Returns the socket of the server in which panes are opened; `None` if the backend has no
    /// server.
    fn socket(&self) -> Option<&Path> {
        None
    }

    /// Creates an empty pane at its position: tagged with team, member and spawn id, with a title,
    /// running nothing. Does not change the focus of attached clients.
    ///
    /// # Errors
    /// [`PaneError`] if no pane could be created; nothing is left behind.
    async fn open(&self, spec: &PaneSpec) -> Result<Pane, PaneError>;

    /// Runs a program in an opened pane, replacing whatever runs there.
    ///
    /// # Errors
    /// [`PaneError`] if the pane is gone, or the directory or program cannot be used. An early exit
    /// of the program is not an error.
    async fn start(&self, pane: &Pane, command: &PaneCommand) -> Result<Started, PaneError>;

    /// Opens a pane and runs a program in it, in a single step where the backend supports that,
    /// which is faster.
    ///
    /// # Errors
    /// As for [`PaneBackend::open`] and [`PaneBackend::start`]; no pane is left behind.
    async fn launch(&self, spec: &PaneSpec, command: &PaneCommand) -> Result<Pane, PaneError> {
        let pane = self.open(spec).await?;
        match self.start(&pane, command).await {
            Ok(_started) => Ok(pane),
            Err(error) => {
                if let Err(left) = self.close(&pane, &spec.spawn_id).await {
                    tracing::warn!(pane = %pane.id, error = %left, "empty pane not closed");
                }
                Err(error)
            }
        }
    }

    /// Returns the status of the pane's process.
    ///
    /// # Errors
    /// [`PaneError`] if the backend does not answer. A pane that does not exist is
    /// [`PaneStatus::Gone`], not an error.
    async fn status(&self, pane: &Pane) -> Result<PaneStatus, PaneError>;

    /// Returns the text of a pane. Trailing blank lines are omitted.
    ///
    /// # Errors
    /// [`PaneError::Gone`] if the pane no longer exists.
    async fn capture(&self, pane: &Pane, part: PaneText) -> Result<String, PaneError>;

    /// Closes the pane and terminates its process if it was opened for `owner`. Closing a pane that
    /// is already gone succeeds.
    ///
    /// # Errors
    /// [`PaneError::Foreign`] if the id belongs to another spawn or to another program's pane,
    /// which is not touched.
    async fn close(&self, pane: &Pane, owner: &SpawnId) -> Result<(), PaneError>;

    /// Resolves when the process in the pane exits: [`PaneStatus::Dead`] if the pane remains,
    /// [`PaneStatus::Gone`] if it closed with the process. Resolves immediately if nothing runs
    /// there.
    ///
    /// # Errors
    /// [`PaneError`] if the backend does not answer.
    async fn exited(&self, pane: &Pane) -> Result<PaneStatus, PaneError>;

    /// Returns the command that shows the pane to a person, as separate words. Empty if there is
    /// none.
    async fn attach_command(&self, pane: &Pane) -> Vec<OsString>;

    /// Returns every pane of swarm that this backend can see, of any team, in unspecified order.
    ///
    /// # Errors
    /// [`PaneError`] if the backend does not answer; a server that has exited has no panes.
    async fn all_panes(&self) -> Result<Vec<TaggedPane>, PaneError>;

    /// Returns the panes of one team.
    ///
    /// # Errors
    /// As for [`PaneBackend::all_panes`].
    async fn panes(&self, team: &TeamName) -> Result<Vec<TaggedPane>, PaneError> {
        let mut panes = self.all_panes().await?;
        panes.retain(|tagged| tagged.team == *team);
        Ok(panes)
    }

    /// Returns what a person would see of the team: its windows with their panes and content. Empty
    /// if nothing is visible.
    ///
    /// # Errors
    /// [`PaneError`] if the backend does not answer.
    async fn view(&self, _team: &TeamName) -> Result<Vec<WindowView>, PaneError> {
        Ok(Vec::new())
    }
}
