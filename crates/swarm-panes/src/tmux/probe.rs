//! Checks the version of the installed tmux and the existence of the lead's pane, once, when the
//! backend is selected.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use parking_lot::Mutex;
use tmux_interface::ListPanes;
use tokio::process::Command;

use super::batch::Batch;
use super::features::TmuxVersion;
use super::server::{ANSWER_DEADLINE, Server};
use crate::PaneError;

/// Returns the version of a tmux program. Does not start a server.
///
/// # Errors
/// Those of [`check_tmux`], except [`PaneError::TmuxTooOld`].
pub(crate) async fn tmux_version(program: &Path) -> Result<TmuxVersion, PaneError> {
    let file = ProgramFile::at(program);
    if let Some(known) = file.as_ref().and_then(ProgramFile::known_version) {
        return Ok(known);
    }
    let version = ask_version(program).await?;
    if let Some(file) = file {
        file.remember(version.clone());
    }
    Ok(version)
}

/// Identity of a program file: a replaced file is queried again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProgramFile {
    path: PathBuf,
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

/// Versions that programs have reported to this process.
static VERSIONS: Mutex<Vec<(ProgramFile, TmuxVersion)>> = Mutex::new(Vec::new());

impl ProgramFile {
    fn at(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok()?;
        Some(Self {
            path: path.to_owned(),
            device: file.dev(),
            inode: file.ino(),
            bytes: file.size(),
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }

    fn known_version(&self) -> Option<TmuxVersion> {
        let versions = VERSIONS.lock();
        let known = versions.iter().find(|(file, _)| file == self);
        known.map(|(_, version)| version.clone())
    }

    fn remember(self, version: TmuxVersion) {
        let mut versions = VERSIONS.lock();
        versions.retain(|(file, _)| file.path != self.path);
        versions.push((self, version));
    }
}

async fn ask_version(program: &Path) -> Result<TmuxVersion, PaneError> {
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
            return Err(PaneError::TmuxUnresponsive {
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

/// Checks that a tmux program has all required features.
///
/// # Errors
/// [`PaneError::TmuxMissing`] if it cannot be run, [`PaneError::TmuxUnresponsive`] if it does not
/// exit, [`PaneError::TmuxUnknown`] if its output is not a version, and [`PaneError::TmuxTooOld`]
/// with the missing features.
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

/// Returns whether the server at `socket` has the pane `lead`.
///
/// # Errors
/// [`PaneError::Unresponsive`] if the server exists but does not answer.
pub(crate) async fn lead_pane_answers(
    program: &Path,
    socket: &Path,
    lead: &str,
) -> Result<bool, PaneError> {
    let server = Server::existing(program.to_owned(), socket.to_owned());
    let panes = ListPanes::new().all().format("#{pane_id}").build();
    match server.run(&Batch::new().then(&panes)).await {
        Ok(listed) => Ok(listed.lines().any(|line| line == lead)),
        Err(error @ PaneError::Unresponsive { .. }) => Err(error),
        Err(error) => {
            tracing::debug!(socket = %socket.display(), %error, "tmux server of the lead not found");
            Ok(false)
        }
    }
}
