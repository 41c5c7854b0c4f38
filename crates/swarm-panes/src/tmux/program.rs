//! Running a program in a pane that is there.

use swarm_protocol::PaneId;
use tmux_interface::PipePane;

use super::batch::Batch;
use super::commands::{self, WORDS_LIMIT};
use super::snapshot::Snapshot;
use crate::{PaneCommand, PaneError, PaneStatus, log, text};

/// The commands that run a program in a pane in place of what is there, and copy what it prints.
///
/// # Errors
/// [`PaneError::Invalid`] and [`PaneError::TooLong`] for what cannot be passed to tmux.
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
        // `-O`, named from the side of the command: the pane's output is its stdin.
        .stdin()
        .target_pane(id.as_str().to_owned())
        .build();
    Ok(batch.then_with(&pipe, [text::append_command(file)]))
}

/// Looks at all that could only be seen by a pane without a program, before there is a pane.
///
/// # Errors
/// [`PaneError::Invalid`] for a program or directory that cannot be used, and what making the output's file gives.
pub(crate) fn prepare(command: &PaneCommand) -> Result<(), PaneError> {
    command.check()?;
    command.log.as_deref().map(log::open).transpose()?;
    Ok(())
}

/// A program that was started in a pane, as tmux listed it in the same call: neither it nor its pid can have been given
/// away by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Child {
    /// Its pid.
    pub(crate) pid: u32,
    /// The tmux server, which is its parent.
    pub(crate) server: u32,
}

impl Child {
    /// The program in a pane, if it still ran.
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
