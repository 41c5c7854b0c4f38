//! The trait that every place for members implements.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use swarm_protocol::{BackendType, SpawnId, TeamName};

use crate::{Pane, PaneCommand, PaneError, PaneSpec, PaneStatus, Started, TaggedPane, WindowView};

/// A place where members live. Every method that takes a [`Pane`] works from any process that knows its id and
/// socket, not only from the one that opened it. Call within a tokio runtime with I/O and time enabled.
#[async_trait]
pub trait PaneBackend: Send + Sync + fmt::Debug {
    /// The word for the roster.
    fn kind(&self) -> BackendType;

    /// The socket of the server in which panes are opened; none where panes are no server's.
    fn socket(&self) -> Option<&Path> {
        None
    }

    /// Makes an empty pane: tagged with team, member and spawn id, titled, in its place, running nothing. The focus
    /// of whoever watches stays where it is.
    ///
    /// # Errors
    /// [`PaneError`] when no pane could be made; nothing is left behind then.
    async fn open(&self, spec: &PaneSpec) -> Result<Pane, PaneError>;

    /// Runs a program in an opened pane, in place of whatever ran there.
    ///
    /// # Errors
    /// [`PaneError`] when the pane is gone, or the directory or program cannot be used. That the program then lives is
    /// its own to report.
    async fn start(&self, pane: &Pane, command: &PaneCommand) -> Result<Started, PaneError>;

    /// Opens a pane and runs a program in it: both at once where the backend can, which is quicker.
    ///
    /// # Errors
    /// Those of [`PaneBackend::open`] and [`PaneBackend::start`]; no pane is left behind then.
    async fn launch(&self, spec: &PaneSpec, command: &PaneCommand) -> Result<Pane, PaneError> {
        let pane = self.open(spec).await?;
        match self.start(&pane, command).await {
            Ok(_started) => Ok(pane),
            Err(error) => {
                if let Err(left) = self.close(&pane, &spec.spawn_id).await {
                    tracing::warn!(pane = %pane.id, error = %left, "pane without a program not closed");
                }
                Err(error)
            }
        }
    }

    /// What the pane's process is doing.
    ///
    /// # Errors
    /// [`PaneError`] when the backend does not answer. A pane that does not exist is [`PaneStatus::Gone`], no error.
    async fn status(&self, pane: &Pane) -> Result<PaneStatus, PaneError>;

    /// The text of a pane: what it shows, or with `lines` its last so many lines, those scrolled out included. Blank
    /// lines at the end are left out. `escapes` keeps colours as SGR sequences.
    ///
    /// # Errors
    /// [`PaneError::Gone`] when there is no such pane any more.
    async fn capture(
        &self,
        pane: &Pane,
        lines: Option<usize>,
        escapes: bool,
    ) -> Result<String, PaneError>;

    /// Ends the pane and the process in it, if it is the one that was opened for `owner`. A pane that is gone
    /// already is no error.
    ///
    /// # Errors
    /// [`PaneError::Foreign`] when the id belongs to another spawn or another program's pane: it is left alone.
    async fn close(&self, pane: &Pane, owner: &SpawnId) -> Result<(), PaneError>;

    /// Resolves when the process that runs in the pane has ended, with what is left: [`PaneStatus::Dead`] where the
    /// pane was kept, [`PaneStatus::Gone`] where it closed with it. Resolves at once when nothing runs there.
    ///
    /// # Errors
    /// [`PaneError`] when the backend does not answer.
    async fn exited(&self, pane: &Pane) -> Result<PaneStatus, PaneError>;

    /// The words of a command that brings the pane before a person who asked for it. Empty where there is none.
    async fn attach_command(&self, pane: &Pane) -> Vec<OsString>;

    /// Every pane of swarm's that this backend can see, of whatever team, in no particular order.
    ///
    /// # Errors
    /// [`PaneError`] when the backend does not answer; a server that has gone has no panes.
    async fn all_panes(&self) -> Result<Vec<TaggedPane>, PaneError>;

    /// Those of one team.
    ///
    /// # Errors
    /// Those of [`PaneBackend::all_panes`].
    async fn panes(&self, team: &TeamName) -> Result<Vec<TaggedPane>, PaneError> {
        let mut panes = self.all_panes().await?;
        panes.retain(|tagged| tagged.team == *team);
        Ok(panes)
    }

    /// What a person would see of the team: its windows with their panes and what stands in them. Empty where there
    /// is nothing to see.
    ///
    /// # Errors
    /// [`PaneError`] when the backend does not answer.
    async fn view(&self, team: &TeamName) -> Result<Vec<WindowView>, PaneError>;
}
