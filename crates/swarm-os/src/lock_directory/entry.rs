//! What is at the path of a lock directory: looked at, refreshed and removed.

use std::fs::{self, File, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

use super::stale::Look;
use crate::OsError;
use crate::contained::{identity, retrying};

/// Nobody breaks a directory that was made this recently: what is found at its path is still what was made.
pub(crate) const TOO_YOUNG_TO_BE_BROKEN: Duration = Duration::from_secs(5);

/// How long a lock directory is not touched again: half of the shortest time after which proper-lockfile may be told to
/// break one.
pub(crate) const JUST_REFRESHED: Duration = Duration::from_secs(1);

/// How a lock directory excludes our own processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The caller holds the sidecar's flock; the directory is for other programs.
    UnderFlock,
    /// The directory is all there is; it has no mark and is refreshed while held.
    DirectoryOnly,
}

pub(crate) fn look_at(path: &Path) -> Result<Option<Metadata>, OsError> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OsError::io(path, "look at", error)),
    }
}

pub(crate) fn look(found: &Metadata) -> Look {
    Look {
        identity: identity(found),
        refreshed: found.modified().unwrap_or(SystemTime::UNIX_EPOCH),
    }
}

/// Removes a lock directory; one that is gone already is fine.
pub(crate) fn remove(path: &Path) -> Result<(), OsError> {
    match retrying(|| rustix::fs::rmdir(path)) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(OsError::io(path, "remove the lock directory", error)),
    }
}

/// Sets the time that others judge the lock's age by.
pub(crate) fn refresh(descriptor: &File) -> rustix::io::Result<()> {
    let moment = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: moment,
        last_modification: moment,
    };
    retrying(|| rustix::fs::futimens(descriptor, &times))
}
