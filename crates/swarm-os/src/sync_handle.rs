//! One wait for the disk that several need.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::{OsError, PendingSync};

/// Changes that are waited for once, by whoever comes first; everybody else gets what came of that. Until somebody has
/// come, nobody waits.
#[derive(Clone)]
pub struct SyncHandle(Arc<Shared>);

struct Shared {
    work: Mutex<Option<Box<Work>>>,
    outcome: OnceLock<Result<(), OsError>>,
}

type Work = dyn FnOnce() -> Result<(), OsError> + Send;

impl SyncHandle {
    /// What `work` waits for.
    pub fn by(work: impl FnOnce() -> Result<(), OsError> + Send + 'static) -> Self {
        Self(Arc::new(Shared {
            work: Mutex::new(Some(Box::new(work))),
            outcome: OnceLock::new(),
        }))
    }

    /// Returns once everything is on disk. The first one waits for the disk, those who come meanwhile for the first one.
    ///
    /// # Errors
    /// As [`PendingSync::sync`], for everybody the same.
    pub fn wait(&self) -> Result<(), OsError> {
        let outcome = self.0.outcome.get_or_init(|| {
            let mut work = self.0.work.lock();
            // It is gone without an outcome when the one who waited broke down: nobody knows what is on disk.
            work.take().map_or_else(
                || {
                    Err(OsError::io(
                        Path::new(""),
                        "sync",
                        io::Error::from(io::ErrorKind::Other),
                    ))
                },
                |work| work(),
            )
        });
        outcome.as_ref().map_err(again).copied()
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

/// The same error once more. The system's own errors are numbers, others words.
fn again(error: &OsError) -> OsError {
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
    fn everybody_waits_for_the_one_who_came_first() {
        let (open, gate) = channel::<()>();
        let times = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&times);
        let sync_handle = SyncHandle::by(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            gate.recv().unwrap();
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
        open.send(()).unwrap();
        let told: Vec<String> = all.into_iter().map(|one| one.join().unwrap()).collect();
        assert!(
            told.iter().all(|one| *one == told[0] && one.contains("/x")),
            "{told:?}"
        );
        assert_eq!(times.load(Ordering::SeqCst), 1);
    }
}
