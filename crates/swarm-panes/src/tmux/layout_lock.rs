//! One change of a server's layout at a time: two that open panes side by side take each other's room, and both have to
//! look again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::MutexGuard;

use super::snapshot::Snapshot;

/// What the last holder saw of the server, and when.
#[derive(Debug, Default)]
pub(crate) struct Seen(Option<(Instant, Snapshot)>);

/// The right to change the layout.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    seen: MutexGuard<'a, Seen>,
    asked: Instant,
}

impl<'a> Layout<'a> {
    /// Waits for the right.
    pub(crate) async fn lock(lock: &'a LayoutLock) -> Self {
        let asked = Instant::now();
        let seen = lock.lock().await;
        Self { seen, asked }
    }

    /// The server as the last holder saw it, if that was after this holder asked for the right: a look of its own would not
    /// have to be younger. There is none a second time.
    pub(crate) fn take_seen(&mut self) -> Option<Snapshot> {
        let (at, snapshot) = self.seen.0.take()?;
        (at >= self.asked).then_some(snapshot)
    }

    /// Notes what a look that began at `at` has shown.
    pub(crate) fn note(&mut self, at: Instant, snapshot: Snapshot) {
        self.seen.0 = Some((at, snapshot));
    }
}

/// What is held while a pane is opened or closed.
pub(crate) type LayoutLock = tokio::sync::Mutex<Seen>;

/// The locks in use, by the socket of their server. A process has several backends for one server: each spawn chooses its
/// own.
static LOCKS: Mutex<Vec<(PathBuf, Weak<LayoutLock>)>> = Mutex::new(Vec::new());

/// The lock of a server, the same for all of this process.
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
    fn a_server_has_one_lock_for_all_who_are_there() {
        let (one, other) = (Path::new("/nowhere/one"), Path::new("/nowhere/other"));
        let first = layout_lock(one);
        assert!(Arc::ptr_eq(&first, &layout_lock(one)));
        assert!(!Arc::ptr_eq(&first, &layout_lock(other)));
    }
}
