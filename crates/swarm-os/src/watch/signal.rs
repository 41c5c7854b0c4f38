//! A flag that threads and tasks wait on.

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
