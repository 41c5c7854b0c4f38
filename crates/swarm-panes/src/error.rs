//! Errors of panes and backends.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use swarm_protocol::{BackendType, ErrorKind, PaneId};

use crate::tmux::{Feature, OLDEST, TmuxVersion};

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PaneError {
    /// No tmux program was found.
    #[error("tmux not found: install it (apt install tmux), or use `--backend headless`")]
    TmuxMissing,
    /// The installed tmux lacks what swarm needs.
    #[error("{} is {found}, which lacks {}: upgrade to tmux {}.{}, or use `--backend headless`", program.display(),
        list(missing), OLDEST.0, OLDEST.1)]
    TmuxTooOld {
        /// The tmux program.
        program: PathBuf,
        /// Its version.
        found: TmuxVersion,
        /// The missing features.
        missing: Vec<Feature>,
    },
    /// The version of the tmux program cannot be parsed.
    #[error("cannot parse the version of {} (\"{said}\"): put tmux on the PATH, or use `--backend headless`", program.display())]
    TmuxUnknown {
        /// The tmux program.
        program: PathBuf,
        /// Its output.
        said: String,
    },
    /// The tmux program does not report its version in time.
    #[error("{} did not report its version within {} s: put a working tmux on the PATH, or use `--backend headless`", program.display(), waited.as_secs())]
    TmuxUnresponsive {
        /// The tmux program.
        program: PathBuf,
        /// Waiting time of this process.
        waited: Duration,
    },
    /// No server answers at the socket.
    #[error("no tmux server answers at {}", .0.display())]
    ServerGone(PathBuf),
    /// The lead's pane is not on the server that its environment names.
    #[error("the lead's pane {pane} does not exist on the tmux server at {}: start the lead in an existing pane, or use `--backend headless`", socket.display())]
    LeadPaneGone {
        /// The pane from `TMUX_PANE`.
        pane: String,
        /// The socket from `TMUX`.
        socket: PathBuf,
    },
    /// The backend of the server at this socket can access existing panes but not open new ones.
    #[error("no lead pane on the tmux server at {}: spawn from within it, or use `--backend headless`", .0.display())]
    NoLeadPane(PathBuf),
    /// A pane next to the lead is required but not possible; the reason is the rest of a sentence
    /// about the lead's window.
    #[error(
        "no room for a pane next to the lead: its window {0}. Make room there, or set `place = \"auto\"` under [tmux] to use more windows"
    )]
    NoSplit(&'static str),
    /// The pane no longer exists.
    #[error("pane {0} no longer exists")]
    Gone(PaneId),
    /// The pane belongs to another spawn.
    #[error("pane {pane} does not belong to spawn {expected} ({found}): not changed")]
    Foreign {
        /// Id of the pane.
        pane: PaneId,
        /// The expected spawn.
        expected: String,
        /// The actual owner.
        found: String,
    },
    /// The pane's process survived SIGKILL.
    #[error(
        "process {pid} of pane {pane} did not exit after SIGKILL: check for a disk or mount that hangs"
    )]
    SurvivedKill {
        /// Id of the pane.
        pane: PaneId,
        /// Process id.
        pid: u32,
    },
    /// A task of this process does not return.
    #[error(
        "the task of pane {0} does not return: check for a disk or mount that hangs; it ends with the lead's process"
    )]
    Stuck(PaneId),
    /// The pane was not created by swarm.
    #[error("pane {0} was not created by swarm: not changed")]
    Unowned(PaneId),
    /// tmux rejected a command.
    #[error("tmux at {} rejected `{command}`: {message}", socket.display())]
    Refused {
        /// Path of the socket.
        socket: PathBuf,
        /// Names of the tmux commands.
        command: String,
        /// Error message of tmux.
        message: String,
    },
    /// The tmux server did not answer.
    #[error("the tmux server at {} does not answer (`{command}`, {} s): resume it (kill -CONT) or terminate it, or use `--backend headless`", socket.display(), waited.as_secs())]
    Unresponsive {
        /// Path of the socket.
        socket: PathBuf,
        /// Names of the tmux commands.
        command: String,
        /// Waiting time of this process.
        waited: Duration,
    },
    /// A tmux command is limited to 16 KiB.
    #[error(
        "the command line for pane {pane} is {bytes} bytes long, the limit of tmux is {limit}: pass long text in a file"
    )]
    TooLong {
        /// Id of the pane.
        pane: PaneId,
        /// Total length of all arguments in bytes.
        bytes: usize,
        /// Limit of tmux in bytes.
        limit: usize,
    },
    /// An unusable value.
    #[error("invalid {what} `{}`: {why}", given.escape_debug())]
    Invalid {
        /// Kind of value, as a noun.
        what: &'static str,
        /// The value.
        given: String,
        /// Reason, as a clause.
        why: &'static str,
    },
    /// A program that controls a terminal failed.
    #[error("{} {command} failed: {message}", program.display())]
    ControlProgram {
        /// Path of the program.
        program: PathBuf,
        /// First argument.
        command: String,
        /// Error message of the program.
        message: String,
    },
    /// The terminal opened a pane but did not run the command in it.
    #[error(
        "pane {0} was opened, but the teammate did not start in it: check that the terminal runs the command that it gets"
    )]
    NotStarted(PaneId),
    /// The backend is not available.
    #[error("backend `{}` is not available here: {why}", backend.name())]
    Unavailable {
        /// The backend.
        backend: BackendType,
        /// Reason, as a clause.
        why: String,
    },
    /// The output of a program cannot be parsed.
    #[error("cannot parse {what} in `{}`", line.escape_debug())]
    Unreadable {
        /// The expected item.
        what: &'static str,
        /// The output line.
        line: String,
    },
    /// An I/O operation failed.
    #[error("could not {op} {}", path.display())]
    Io {
        /// The operation, as a verb phrase completed by the path.
        op: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] swarm_os::OsError),
}

/// Joins features for a sentence.
fn list(features: &[Feature]) -> String {
    let words: Vec<&str> = features.iter().map(|feature| feature.what).collect();
    words.join(", ")
}

impl PaneError {
    /// Returns the category for scripts.
    pub fn kind(&self) -> ErrorKind {
        match self {
            PaneError::TmuxMissing
            | PaneError::TmuxTooOld { .. }
            | PaneError::TmuxUnknown { .. }
            | PaneError::TmuxUnresponsive { .. }
            | PaneError::Unresponsive { .. }
            | PaneError::ServerGone(_)
            | PaneError::LeadPaneGone { .. }
            | PaneError::NoLeadPane(_)
            | PaneError::NoSplit(_)
            | PaneError::Refused { .. }
            | PaneError::ControlProgram { .. }
            | PaneError::NotStarted(_)
            | PaneError::Unavailable { .. } => ErrorKind::Environment,
            PaneError::Gone(_) => ErrorKind::NotFound,
            PaneError::Foreign { .. } | PaneError::Unowned(_) => ErrorKind::Conflict,
            PaneError::SurvivedKill { .. } | PaneError::Stuck(_) => ErrorKind::TimedOut,
            PaneError::TooLong { .. } | PaneError::Invalid { .. } => ErrorKind::Usage,
            PaneError::Unreadable { .. } | PaneError::Io { .. } | PaneError::File(_) => {
                ErrorKind::Internal
            }
        }
    }

    /// Creates a [`PaneError::Io`].
    pub(crate) fn io(op: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io {
            op,
            path: path.to_owned(),
            source: source.into(),
        }
    }
}
