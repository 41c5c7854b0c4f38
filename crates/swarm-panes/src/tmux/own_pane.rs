//! Operations on the pane in which the calling program runs.

use std::path::PathBuf;

use swarm_protocol::PaneId;
use tmux_interface::PipePane;

use super::batch::Batch;
use super::server::{Server, socket_of};
use crate::PaneError;

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
