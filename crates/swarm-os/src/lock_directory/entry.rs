//! Inspects, refreshes and removes lock directories.

use std::fs::{File, Metadata};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW};

use super::stale::LockState;
use crate::OsError;
use crate::contained::{identity, retrying};
use crate::error::OnPath as _;

/// A directory younger than this is never broken, so the one found at the path is the one that was
/// created.
pub(crate) const TOO_YOUNG_TO_BE_BROKEN: Duration = Duration::from_secs(5);

/// Minimum interval between refreshes: half of the shortest staleness threshold that
/// proper-lockfile accepts.
pub(crate) const JUST_REFRESHED: Duration = Duration::from_secs(1);

/// How processes of swarm exclude each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The caller holds the flock of the sidecar; the directory excludes other programs.
    UnderFlock,
    /// Only the directory is used; it has no mark and is refreshed while held.
    DirectoryOnly,
}

pub(crate) fn state_of(found: &Metadata) -> LockState {
    LockState {
        identity: identity(found),
        refreshed: found.modified().unwrap_or(SystemTime::UNIX_EPOCH),
    }
}

/// Removes a lock directory. Succeeds if it does not exist.
pub(crate) fn remove(path: &Path) -> Result<(), OsError> {
    let removed = retrying(|| rustix::fs::rmdir(path));
    removed.or_none(path, "remove the lock directory").map(drop)
}

/// The present time, which the kernel fills in.
pub(crate) const NOW: Timestamps = {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    Timestamps {
        last_access: now,
        last_modification: now,
    }
};

/// Updates the modification time, by which other processes determine the age of the lock.
pub(crate) fn refresh(descriptor: &File) -> rustix::io::Result<()> {
    retrying(|| rustix::fs::futimens(descriptor, &NOW))
}

/// Half of the time after which proper-lockfile considers a lock directory stale.
const EVERY: Duration = Duration::from_secs(5);

/// A thread that refreshes a lock directory until this is dropped.
#[derive(Debug)]
pub(crate) struct Refresher {
    _stop: Sender<()>,
}

impl Refresher {
    pub(crate) fn start(path: &Path, descriptor: File) -> Result<Self, OsError> {
        Self::every(EVERY, path, descriptor)
    }

    fn every(gap: Duration, path: &Path, descriptor: File) -> Result<Self, OsError> {
        let failed = |error| OsError::io(path, "refresh the lock directory", error);
        let (stop, stopped) = mpsc::channel::<()>();
        thread::Builder::new()
            .name("refresh a lock".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(gap) == Err(RecvTimeoutError::Timeout) {
                    if let Err(error) = refresh(&descriptor) {
                        tracing::warn!(%error, "could not refresh a lock directory");
                    }
                }
            })
            .map_err(failed)?;
        Ok(Self { _stop: stop })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Instant, SystemTime};

    use super::*;

    #[test]
    fn a_held_directory_is_refreshed() {
        let directory = tempfile::tempdir().unwrap();
        let opened = File::open(directory.path()).unwrap();
        let modified = || opened.metadata().unwrap().modified().unwrap();
        let _refresher = Refresher::every(
            Duration::from_millis(1),
            directory.path(),
            opened.try_clone().unwrap(),
        )
        .unwrap();
        for _ in 0..3 {
            opened.set_modified(SystemTime::UNIX_EPOCH).unwrap();
            let began = Instant::now();
            while modified() == SystemTime::UNIX_EPOCH {
                assert!(
                    began.elapsed() < Duration::from_mins(1),
                    "it was not refreshed"
                );
                thread::yield_now();
            }
        }
    }
}
