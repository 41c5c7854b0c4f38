//! Errors of operations on files, locks and processes.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An error of this crate. Every variant names the path that it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OsError {
    /// The file or its directory does not exist, or no longer exists. It is not created again.
    #[error("{} does not exist: it was deleted, moved or never created", .0.display())]
    Gone(PathBuf),
    /// A lock was not released before the deadline. Nothing was written.
    #[error("{} is locked: waited {:.1} s for {holder}", path.display(), waited.as_secs_f64())]
    LockTimeout {
        /// The sidecar, lock directory or life file that is locked.
        path: PathBuf,
        /// Description of the process that holds the lock, as far as it is known.
        holder: String,
        /// How long this process waited.
        waited: Duration,
    },
    /// Another process removed the lock directory while it was held, because this process was
    /// suspended for too long. Nothing was written after that.
    #[error("the lock {} was broken by another process while it was held; nothing was written", .0.display())]
    LockLost(PathBuf),
    /// The path is something that swarm must not follow, read or write.
    #[error("refusing {}: {why}", path.display())]
    NotOurs {
        /// The path that was refused.
        path: PathBuf,
        /// The reason, as a clause without a full stop.
        why: &'static str,
    },
    /// The path already exists. It was not changed.
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    /// A system call failed.
    #[error("could not {op} {}", path.display())]
    Io {
        /// The path that the call was about.
        path: PathBuf,
        /// The operation: a verb phrase whose object is the path.
        op: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}

/// Adds the path and the operation to the error of a failed call. `op` is a verb phrase whose object
/// is the path.
pub(crate) trait OnPath<T> {
    /// Returns [`OsError::Io`] for every error.
    fn or_io(self, path: &Path, op: &'static str) -> Result<T, OsError>;

    /// Returns [`OsError::Gone`] for a missing file or directory, and [`OsError::Exists`] for one that
    /// is in the way.
    fn or_gone(self, path: &Path, op: &'static str) -> Result<T, OsError>;

    /// Returns `None` for a missing file or directory.
    fn or_none(self, path: &Path, op: &'static str) -> Result<Option<T>, OsError>;
}

impl<T, E: Into<io::Error>> OnPath<T> for Result<T, E> {
    fn or_io(self, path: &Path, op: &'static str) -> Result<T, OsError> {
        self.map_err(|error| OsError::io(path, op, error))
    }

    fn or_gone(self, path: &Path, op: &'static str) -> Result<T, OsError> {
        self.map_err(|error| OsError::gone_or_io(path, op, error))
    }

    fn or_none(self, path: &Path, op: &'static str) -> Result<Option<T>, OsError> {
        match self.map_err(Into::<io::Error>::into) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            done => done.map(Some).or_io(path, op),
        }
    }
}

impl OsError {
    /// Creates an [`OsError::Gone`].
    pub(crate) fn gone(path: &Path) -> Self {
        Self::Gone(path.to_owned())
    }

    /// Creates an [`OsError::Exists`].
    pub(crate) fn exists(path: &Path) -> Self {
        Self::Exists(path.to_owned())
    }

    /// Creates an [`OsError::Io`] from the error of a failed call.
    pub fn io(path: &Path, op: &'static str, source: impl Into<io::Error>) -> Self {
        Self::Io {
            path: path.to_owned(),
            op,
            source: source.into(),
        }
    }

    /// Like [`OsError::io`], but returns [`OsError::Gone`] for a missing file or directory, and
    /// [`OsError::Exists`] for one that is in the way.
    pub(crate) fn gone_or_io(path: &Path, op: &'static str, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::gone(path),
            io::ErrorKind::AlreadyExists => Self::exists(path),
            _ => Self::io(path, op, source),
        }
    }
}
