//! What can go wrong on a shared disk.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An error of this crate. Every kind names the path it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OsError {
    /// The file or its directory is not there (any more): whoever waited for it does not bring it back.
    #[error("{} is not there: it was deleted or moved, or never made", path.display())]
    Gone {
        /// What was looked for.
        path: PathBuf,
    },
    /// A lock stayed taken until the deadline. Nothing was written.
    #[error("{} stayed locked for {:.1} s by {holder}; try again, or end that process if it hangs", path.display(), waited.as_secs_f64())]
    LockTimeout {
        /// The sidecar, the lock directory or the life file that was taken.
        path: PathBuf,
        /// Who has it, as far as it can be known.
        holder: String,
        /// How long this process waited.
        waited: Duration,
    },
    /// The lock directory was taken away while it was held, because this process stood still for too long. Nothing
    /// was written after that.
    #[error("the lock {} was broken by another process while it was held; nothing was written, do it again", path.display())]
    LockLost {
        /// The lock directory.
        path: PathBuf,
    },
    /// The path holds something that swarm must not follow, read or write.
    #[error("refusing {}: {why}", path.display())]
    NotOurs {
        /// The path that was refused.
        path: PathBuf,
        /// What is wrong with it, as half a sentence.
        why: &'static str,
    },
    /// Something is already there, and it is left as it was.
    #[error("{} already exists", path.display())]
    Exists {
        /// The path that was to be made.
        path: PathBuf,
    },
    /// The system refused a step.
    #[error("could not {op} {}", path.display())]
    Io {
        /// What the step was about.
        path: PathBuf,
        /// The step, as a verb phrase that the path completes.
        op: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl OsError {
    /// An [`OsError::Io`], from whatever the failed call returned.
    pub(crate) fn io(path: &Path, op: &'static str, source: impl Into<io::Error>) -> Self {
        Self::Io {
            path: path.to_owned(),
            op,
            source: source.into(),
        }
    }

    /// Like [`OsError::io`], but a missing file or directory is [`OsError::Gone`].
    pub(crate) fn gone_or_io(path: &Path, op: &'static str, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Gone {
                path: path.to_owned(),
            },
            _ => Self::io(path, op, source),
        }
    }
}
