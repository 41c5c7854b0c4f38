//! What can go wrong with panes.

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
    #[error("tmux was not found: install it (apt install tmux), or use `--backend headless`")]
    TmuxMissing,
    /// The installed tmux lacks what swarm needs.
    #[error("{} is {found}, which lacks {}: upgrade to tmux {}.{}, or use `--backend headless`", program.display(),
        list(missing), OLDEST.0, OLDEST.1)]
    TmuxTooOld {
        /// The program that was asked.
        program: PathBuf,
        /// What it is.
        found: TmuxVersion,
        /// What it lacks.
        missing: Vec<Feature>,
    },
    /// A program called tmux does not say which version it is.
    #[error("{} does not say which tmux it is (it says \"{said}\"): put tmux on the PATH, or use `--backend headless`", program.display())]
    TmuxUnknown {
        /// The program that was asked.
        program: PathBuf,
        /// What it said.
        said: String,
    },
    /// A program called tmux does not end when it is asked for its version.
    #[error("{} did not say its version within {} s: put a tmux that works on the PATH, or use `--backend headless`", program.display(), waited.as_secs())]
    TmuxMute {
        /// The program that was asked.
        program: PathBuf,
        /// How long this process waited.
        waited: Duration,
    },
    /// No server answers at the socket.
    #[error("no tmux server answers at {}", socket.display())]
    ServerGone {
        /// The socket.
        socket: PathBuf,
    },
    /// The lead's own pane is not on the server that its environment names.
    #[error("the team lead's pane {pane} is not on the tmux server at {}: start the lead in a living pane, or use `--backend headless`", socket.display())]
    LeadPaneGone {
        /// The pane that `TMUX_PANE` names.
        pane: String,
        /// The socket that `TMUX` names.
        socket: PathBuf,
    },
    /// This handle reaches panes but cannot open new ones.
    #[error("there is no lead pane to open panes beside on the tmux server at {}: spawn from within it, or use `--backend headless`", socket.display())]
    NoPlace {
        /// The socket.
        socket: PathBuf,
    },
    /// A pane beside the lead was asked for and cannot be.
    #[error(
        "there is no place beside the lead: its window {why}. Make room there, or set `place = \"auto\"` under [tmux], which takes further windows"
    )]
    NoSplit {
        /// Why, as the rest of a sentence about the lead's window.
        why: &'static str,
    },
    /// The pane does not exist any more.
    #[error("pane {pane} is gone")]
    Gone {
        /// The pane.
        pane: PaneId,
    },
    /// The pane was not opened for this spawn.
    #[error("pane {pane} does not belong to spawn {expected} ({found}): left alone")]
    Foreign {
        /// The pane.
        pane: PaneId,
        /// The spawn that was to be closed.
        expected: String,
        /// What the pane says it is.
        found: String,
    },
    /// The pane's process outlived even the signal that cannot be ignored.
    #[error(
        "process {pid} of pane {pane} does not end: the system holds it (a disk or mount that hangs?)"
    )]
    Undying {
        /// The pane.
        pane: PaneId,
        /// The process.
        pid: u32,
    },
    /// The pane was not made by swarm.
    #[error("pane {pane} was not made by swarm: left alone")]
    Unowned {
        /// The pane.
        pane: PaneId,
    },
    /// tmux refused.
    #[error("tmux at {} refused `{command}`: {message}", socket.display())]
    Refused {
        /// The socket.
        socket: PathBuf,
        /// Names of the commands that were sent.
        command: String,
        /// What tmux said.
        message: String,
    },
    /// tmux did not answer.
    #[error("the tmux server at {} does not answer (`{command}`, {} s): it hangs or is stopped. Let it go on (kill -CONT) or end it, or use `--backend headless`", socket.display(), waited.as_secs())]
    Silent {
        /// The socket.
        socket: PathBuf,
        /// Names of the commands that were sent.
        command: String,
        /// How long this process waited.
        waited: Duration,
    },
    /// tmux takes a command of 16 KiB at most.
    #[error(
        "the command line for pane {pane} is {bytes} bytes long, tmux takes {limit}: pass long text by a file"
    )]
    TooLong {
        /// The pane.
        pane: PaneId,
        /// Length of all words.
        bytes: usize,
        /// What tmux takes.
        limit: usize,
    },
    /// A value that was given cannot be used.
    #[error("{what} `{}` cannot be used: {why}", given.escape_debug())]
    Invalid {
        /// What it is, as a noun.
        what: &'static str,
        /// The value.
        given: String,
        /// Why not, as half a sentence.
        why: &'static str,
    },
    /// The backend is not there.
    #[error("backend `{}` is not available here: {why}", backend.name())]
    Unavailable {
        /// The backend.
        backend: BackendType,
        /// Why, as half a sentence.
        why: String,
    },
    /// What a program answered makes no sense.
    #[error("cannot read {what} in `{}`", line.escape_debug())]
    Unreadable {
        /// What was looked for.
        what: &'static str,
        /// The line.
        line: String,
    },
    /// The system refused a step.
    #[error("could not {op} {}", path.display())]
    Io {
        /// The step, as a verb phrase that the path completes.
        op: &'static str,
        /// What it was about.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] swarm_os::OsError),
}

/// Features one after another, as in a sentence.
fn list(features: &[Feature]) -> String {
    let words: Vec<&str> = features.iter().map(|feature| feature.what).collect();
    words.join(", ")
}

impl PaneError {
    /// How scripts see it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            PaneError::TmuxMissing
            | PaneError::TmuxTooOld { .. }
            | PaneError::TmuxUnknown { .. }
            | PaneError::TmuxMute { .. }
            | PaneError::Silent { .. }
            | PaneError::ServerGone { .. }
            | PaneError::LeadPaneGone { .. }
            | PaneError::NoPlace { .. }
            | PaneError::NoSplit { .. }
            | PaneError::Refused { .. }
            | PaneError::Unavailable { .. } => ErrorKind::Environment,
            PaneError::Gone { .. } => ErrorKind::NotFound,
            PaneError::Foreign { .. } | PaneError::Unowned { .. } => ErrorKind::Conflict,
            PaneError::Undying { .. } => ErrorKind::TimedOut,
            PaneError::TooLong { .. } | PaneError::Invalid { .. } => ErrorKind::Usage,
            PaneError::Unreadable { .. } | PaneError::Io { .. } | PaneError::File(_) => {
                ErrorKind::Internal
            }
        }
    }

    /// A [`PaneError::Io`].
    pub(crate) fn io(op: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io {
            op,
            path: path.to_owned(),
            source: source.into(),
        }
    }
}
