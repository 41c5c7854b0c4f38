//! Refreshes a lock directory that protects a file without flock.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use super::entry::refresh;
use crate::OsError;

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
