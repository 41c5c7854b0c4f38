//! What a terminal must be able to do.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use swarm_protocol::{BackendType, PaneId};
use tokio::process::Command;

use crate::{PaneError, PaneSpec};

/// Time that a control program has to answer. `it2` starts a Python interpreter and connects to
/// iTerm2, which may ask the user for permission.
const ANSWER: Duration = Duration::from_secs(20);

/// A pane to be opened, with the words of the command to run in it.
#[derive(Debug)]
pub struct NewPane<'a> {
    /// Team, member, title and colour.
    pub spec: &'a PaneSpec,
    /// The newest open pane of the same team, if there is one.
    pub newest: Option<&'a PaneId>,
    /// The command; needs no environment and no working directory.
    pub command: [OsString; 2],
}

/// Controls the panes of a terminal.
#[async_trait]
pub trait PaneDriver: Send + Sync + fmt::Debug {
    /// Returns the value used in the roster.
    fn backend(&self) -> BackendType;

    /// Whether the terminal never uses the id of a closed pane again. If not, the roster contains
    /// an id with the spawn id.
    fn has_unique_ids(&self) -> bool;

    /// Opens a pane that runs a command, and returns its id. The focus should stay where it is.
    ///
    /// # Errors
    /// [`PaneError::ControlProgram`] if no pane was opened.
    async fn open(&self, pane: NewPane<'_>) -> Result<PaneId, PaneError>;

    /// Closes a pane. It may be closed already.
    ///
    /// # Errors
    /// [`PaneError::ControlProgram`].
    async fn close(&self, id: &PaneId) -> Result<(), PaneError>;

    /// Returns the text of a pane.
    ///
    /// # Errors
    /// [`PaneError::ControlProgram`].
    async fn capture(&self, id: &PaneId, lines: Option<usize>) -> Result<String, PaneError>;

    /// Returns the command that shows a pane to the user.
    fn focus_command(&self, id: &PaneId) -> Vec<OsString>;
}

/// Runs a control program with an environment and returns its standard output.
///
/// # Errors
/// [`PaneError::ControlProgram`] if it cannot be run, fails, or does not answer.
pub(super) async fn output_of(
    program: &Path,
    words: &[OsString],
    env: &[(String, String)],
) -> Result<String, PaneError> {
    let failed = |message: String| PaneError::ControlProgram {
        program: program.to_owned(),
        command: words
            .first()
            .map_or_else(String::new, |word| word.to_string_lossy().into_owned()),
        message,
    };
    let child = Command::new(program)
        .args(words)
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(ANSWER, child)
        .await
        .map_err(|_elapsed| failed(format!("no answer within {} s", ANSWER.as_secs())))?
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes));
    let said = said
        .iter()
        .find_map(|text| text.lines().find(|line| !line.trim().is_empty()));
    Err(failed(match said {
        Some(line) => format!("{} ({})", line.trim(), output.status),
        None => output.status.to_string(),
    }))
}
