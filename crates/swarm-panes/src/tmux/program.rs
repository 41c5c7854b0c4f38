//! Runs programs in existing panes, and takes over the pane of the calling program.

use std::path::PathBuf;

use swarm_protocol::PaneId;
use tmux_interface::PipePane;

use super::batch::Batch;
use super::commands::{self, WORDS_LIMIT};
use super::server::{Server, socket_of};
use super::snapshot::Snapshot;
use crate::{PaneCommand, PaneError, PaneStatus, log, text};

/// Returns the commands that run a program in a pane, replacing whatever runs there, and copy its
/// output.
///
/// # Errors
/// [`PaneError::Invalid`] and [`PaneError::TooLong`] for commands that cannot be passed to tmux.
pub(crate) fn starting(id: &PaneId, command: &PaneCommand) -> Result<Batch, PaneError> {
    let (head, words) = commands::respawn(id, command)?;
    let batch = Batch::new().then_with(&head, words);
    let bytes = batch.bytes();
    if bytes > WORDS_LIMIT {
        return Err(PaneError::TooLong {
            pane: id.clone(),
            bytes,
            limit: WORDS_LIMIT,
        });
    }
    let batch = batch.then(&commands::set_on_pane(id, "@swarm_started", "1"));
    let Some(file) = &command.log else {
        return Ok(batch);
    };
    let pipe = PipePane::new()
        // `-O` from the command's point of view: the pane's output is its stdin.
        .stdin()
        .target_pane(id.as_str().to_owned())
        .build();
    Ok(batch.then_with(&pipe, [text::append_command(file)]))
}

/// Checks, before a pane exists, all conditions that would otherwise lead to a pane without a
/// program.
///
/// # Errors
/// [`PaneError::Invalid`] for an unusable program or directory, and errors from creating the output
/// file.
pub(crate) fn prepare(command: &PaneCommand) -> Result<(), PaneError> {
    command.check()?;
    command.log.as_deref().map(log::open).transpose()?;
    Ok(())
}

/// A program in a pane, as listed by tmux in the call that started it, so that its pid cannot have
/// been reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Child {
    /// Process id.
    pub(crate) pid: u32,
    /// Process id of the tmux server, its parent.
    pub(crate) server: u32,
}

impl Child {
    /// Returns the program in a pane if it is still running.
    pub(crate) fn in_pane(snapshot: &Snapshot, id: &PaneId) -> Option<Self> {
        let row = snapshot.pane(id)?;
        let PaneStatus::Running { pid } = row.status else {
            return None;
        };
        Some(Self {
            pid,
            server: row.server_pid,
        })
    }
}

/// Stops copying a pane's output to its file: the program in the pane writes the file itself from
/// now on. `program` is tmux, `tmux_env` the value of `TMUX` in the pane.
///
/// # Errors
/// Fails if tmux cannot be run; the output is still copied then.
pub async fn take_over_log(
    program: PathBuf,
    tmux_env: &str,
    pane: &PaneId,
) -> Result<(), PaneError> {
    let socket = socket_of(tmux_env)?;
    let server = Server::existing(program, socket);
    let no_pipe = PipePane::new()
        .target_pane(pane.as_str().to_owned())
        .build();
    server.run(&Batch::new().then(&no_pipe)).await.map(drop)
}
