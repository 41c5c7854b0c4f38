//! One change of a server's layout at a time: two that open panes side by side take each other's room, and both have to
//! look again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What is held while a pane is opened or closed.
pub(crate) type LayoutLock = tokio::sync::Mutex<()>;

/// The locks in use, by the socket of their server. A process has several backends for one server: each spawn chooses its
/// own.
static LOCKS: Mutex<Vec<(PathBuf, Weak<LayoutLock>)>> = Mutex::new(Vec::new());

/// The lock of a server, the same for all of this process.
pub(crate) fn layout_lock(socket: &Path) -> Arc<LayoutLock> {
    let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
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
