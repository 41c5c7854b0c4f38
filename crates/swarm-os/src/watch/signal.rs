//! Flags that threads and tasks wait on.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

/// A flag that may be raised several times and is reset by its single waiter, a task or a thread.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    is_raised: Mutex<bool>,
    for_thread: Condvar,
    for_task: Notify,
}

impl Signal {
    pub(crate) fn raise(&self) {
        *self.is_raised.lock() = true;
        self.for_thread.notify_one();
        self.for_task.notify_one();
    }

    /// Waits until the flag is raised and resets it.
    pub(crate) async fn raised(&self) {
        while !std::mem::take(&mut *self.is_raised.lock()) {
            // If the flag was raised before this line, `notified` returns immediately.
            self.for_task.notified().await;
        }
    }

    /// Waits until the flag is raised and resets it. Returns `false` on timeout.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let mut state = self.is_raised.lock();
        self.for_thread
            .wait_while_for(&mut state, |is_raised| !*is_raised, timeout);
        std::mem::take(&mut *state)
    }
}

/// Tells a thread to stop. Cannot be reset.
#[derive(Debug, Default)]
pub(crate) struct StopFlag {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl StopFlag {
    pub(crate) fn set(&self) {
        *self.is_set.lock() = true;
        self.changed.notify_all();
    }

    /// Waits until the flag is set or the timeout expires. Returns whether the flag is set.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let mut state = self.is_set.lock();
        self.changed
            .wait_while_for(&mut state, |is_set| !*is_set, timeout);
        *state
    }
}
