//! A flush to disk that several callers share.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::{OsError, PendingSync};

/// A flush that runs once, in the first caller of [`SyncHandle::wait`]; all other callers get its
/// result. It does not start before that call.
#[derive(Clone)]
pub struct SyncHandle(Arc<Shared>);

struct Shared {
    work: Mutex<Option<Box<Work>>>,
    outcome: OnceLock<Result<(), OsError>>,
}

type Work = dyn FnOnce() -> Result<(), OsError> + Send;

impl SyncHandle {
    /// Creates a handle for the flush that `work` performs.
    pub fn by(work: impl FnOnce() -> Result<(), OsError> + Send + 'static) -> Self {
        Self(Arc::new(Shared {
            work: Mutex::new(Some(Box::new(work))),
            outcome: OnceLock::new(),
        }))
    }

    /// Returns once everything is on disk. The first caller performs the flush; concurrent callers
    /// wait for it.
    ///
    /// # Errors
    /// As [`PendingSync::sync`], the same for every caller.
    pub fn wait(&self) -> Result<(), OsError> {
        let outcome = self.0.outcome.get_or_init(|| {
            let mut work = self.0.work.lock();
            // Without an outcome although the work was taken: the first caller panicked, and what
            // is on disk is unknown.
            work.take().map_or_else(
                || Err(OsError::io(Path::new(""), "sync", io::ErrorKind::Other)),
                |work| work(),
            )
        });
        outcome.as_ref().map_err(copy_error).copied()
    }
}

impl From<PendingSync> for SyncHandle {
    fn from(pending: PendingSync) -> Self {
        Self::by(|| pending.sync())
    }
}

impl fmt::Debug for SyncHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SyncHandle").field(&self.0.outcome).finish()
    }
}

/// Copies an error: system errors by number, others by text.
fn copy_error(error: &OsError) -> OsError {
    match error {
        OsError::Io { path, op, source } => {
            let source = source
                .raw_os_error()
                .map_or_else(|| source.kind().into(), io::Error::from_raw_os_error);
            OsError::io(path, op, source)
        }
        other => OsError::io(Path::new(""), "sync", io::Error::other(other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    #[test]
    fn concurrent_callers_wait_for_the_first_one_and_get_its_result() {
        let (release, blocked) = channel::<()>();
        let times = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&times);
        let sync_handle = SyncHandle::by(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            blocked.recv().unwrap();
            Err(OsError::io(
                Path::new("/x"),
                "sync",
                io::Error::from_raw_os_error(5),
            ))
        });
        let all: Vec<_> = (0..3)
            .map(|_| {
                let sync_handle = sync_handle.clone();
                thread::spawn(move || sync_handle.wait().unwrap_err().to_string())
            })
            .collect();
        release.send(()).unwrap();
        let errors: Vec<String> = all.into_iter().map(|one| one.join().unwrap()).collect();
        assert!(
            errors
                .iter()
                .all(|one| *one == errors[0] && one.contains("/x")),
            "{errors:?}"
        );
        assert_eq!(times.load(Ordering::SeqCst), 1);
    }
}
