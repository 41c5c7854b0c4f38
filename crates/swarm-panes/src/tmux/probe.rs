//! What the installed tmux can do and whether the lead's pane is there. Asked once, when the backend is chosen.

use std::path::Path;
use std::process::Stdio;

use tmux_interface::ListPanes;
use tokio::process::Command;

use super::batch::Batch;
use super::features::TmuxVersion;
use super::server::{ANSWER_DEADLINE, Server};
use crate::PaneError;

/// Asks a tmux program for its version. It starts no server.
///
/// # Errors
/// [`PaneError::TmuxMissing`] if it cannot be run, [`PaneError::TmuxMute`] if it does not end, and
/// [`PaneError::TmuxUnknown`] if what it says is no version.
pub async fn tmux_version(program: &Path) -> Result<TmuxVersion, PaneError> {
    let mut command = Command::new(program);
    command
        .arg("-V")
        .env_remove("TMUX")
        .env_remove("TMUX_PANE")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = match tokio::time::timeout(ANSWER_DEADLINE, command.output()).await {
        Ok(output) => output.map_err(|_| PaneError::TmuxMissing)?,
        Err(_) => {
            return Err(PaneError::TmuxMute {
                program: program.to_owned(),
                waited: ANSWER_DEADLINE,
            });
        }
    };
    let said = String::from_utf8_lossy(&output.stdout);
    TmuxVersion::parse(&said).ok_or_else(|| PaneError::TmuxUnknown {
        program: program.to_owned(),
        said: said.trim().escape_debug().to_string(),
    })
}

/// Checks that a tmux program has all that swarm uses.
///
/// # Errors
/// Those of [`tmux_version`], and [`PaneError::TmuxTooOld`] with what it lacks.
pub async fn check_tmux(program: &Path) -> Result<(), PaneError> {
    let found = tmux_version(program).await?;
    let missing = found.missing();
    if missing.is_empty() {
        return Ok(());
    }
    Err(PaneError::TmuxTooOld {
        program: program.to_owned(),
        found,
        missing,
    })
}

/// Whether the server at `socket` has the pane `lead`.
///
/// # Errors
/// [`PaneError::Silent`] when the server is there and does not answer.
pub(crate) async fn lead_pane_answers(
    program: &Path,
    socket: &Path,
    lead: &str,
) -> Result<bool, PaneError> {
    let server = Server::existing(program.to_owned(), socket.to_owned());
    let panes = ListPanes::new().all().format("#{pane_id}").build();
    match server.run(&Batch::new().then(&panes)).await {
        Ok(listed) => Ok(listed.lines().any(|line| line == lead)),
        Err(error @ PaneError::Silent { .. }) => Err(error),
        Err(error) => {
            tracing::debug!(socket = %socket.display(), %error, "no tmux server of the lead");
            Ok(false)
        }
    }
}
