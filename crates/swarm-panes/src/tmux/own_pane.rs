//! What a program may do to the pane that it runs in.

use std::path::PathBuf;

use swarm_protocol::PaneId;
use tmux_interface::PipePane;

use super::batch::Batch;
use super::server::{Server, socket_of};
use crate::PaneError;

/// Ends the copying of a pane's output into its file: the program in it keeps the file by itself from here on.
/// `program` is tmux, `tmux_env` the value of `TMUX` in the pane.
///
/// # Errors
/// What running tmux gives; then the output is copied as before.
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
