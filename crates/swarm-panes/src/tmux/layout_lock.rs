//! Serializes changes of a server's layout: two processes that open panes concurrently take each
//! other's room, and both have to retry.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::MutexGuard;

use super::snapshot::Snapshot;

/// Last snapshot of the previous lock holder and the time at which it was taken.
#[derive(Debug, Default)]
pub(crate) struct LastSnapshot(Option<(Instant, Snapshot)>);

/// A guard for changes of the layout.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    seen: MutexGuard<'a, LastSnapshot>,
    asked: Instant,
}

impl<'a> Layout<'a> {
    /// Acquires the lock.
    pub(crate) async fn lock(lock: &'a LayoutLock) -> Self {
        let asked = Instant::now();
        let seen = lock.lock().await;
        Self { seen, asked }
    }

    /// Returns the snapshot of the previous holder if it was taken after this holder requested the
    /// lock: a new one would not be more recent. Can be taken only once.
    pub(crate) fn take_last_snapshot(&mut self) -> Option<Snapshot> {
        let (at, snapshot) = self.seen.0.take()?;
        (at >= self.asked).then_some(snapshot)
    }

    /// Stores a snapshot whose query started at `at`.
    pub(crate) fn note(&mut self, at: Instant, snapshot: Snapshot) {
        self.seen.0 = Some((at, snapshot));
    }
}

/// Lock that is held while a pane is opened or closed.
pub(crate) type LayoutLock = tokio::sync::Mutex<LastSnapshot>;

/// The locks in use, by the socket of their server. A process has several backends for one server:
/// each spawn selects a backend.
static LOCKS: Mutex<Vec<(PathBuf, Weak<LayoutLock>)>> = Mutex::new(Vec::new());

/// Returns the lock of a server, which is shared by the whole process.
pub(crate) fn layout_lock(socket: &Path) -> Arc<LayoutLock> {
    let mut locks = LOCKS.lock();
    locks.retain(|(_, lock)| lock.strong_count() > 0);
    let known = locks.iter().find(|(known, _)| known == socket);
    if let Some(lock) = known.and_then(|(_, lock)| lock.upgrade()) {
        return lock;
    }
    let lock = Arc::new(LayoutLock::default());
    locks.push((socket.to_owned(), Arc::downgrade(&lock)));
    lock
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_one_shared_lock() {
        let (one, other) = (Path::new("/nowhere/one"), Path::new("/nowhere/other"));
        let first = layout_lock(one);
        assert!(Arc::ptr_eq(&first, &layout_lock(one)));
        assert!(!Arc::ptr_eq(&first, &layout_lock(other)));
    }
}
