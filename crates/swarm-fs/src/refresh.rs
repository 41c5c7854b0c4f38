//! Keeping a lock directory fresh while it is all that protects a file.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::FsError;
use crate::lockdir::refresh;

/// Half of the time after which proper-lockfile takes a lock directory for stale.
const EVERY: Duration = Duration::from_secs(5);

/// A thread that touches a lock directory until this is dropped.
#[derive(Debug)]
pub(crate) struct Refresher {
    _stop: Sender<()>,
}

impl Refresher {
    pub(crate) fn start(path: &Path, descriptor: &File) -> Result<Self, FsError> {
        let failed = |error| FsError::io(path, "refresh the lock directory", error);
        let descriptor = descriptor.try_clone().map_err(failed)?;
        let (stop, stopped) = mpsc::channel::<()>();
        thread::Builder::new()
            .name("refreshes a lock".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                    if let Err(error) = refresh(&descriptor) {
                        tracing::warn!(%error, "could not refresh a lock directory");
                    }
                }
            })
            .map_err(failed)?;
        Ok(Self { _stop: stop })
    }
}
