//! Flags that threads and tasks wait on.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

/// Raised any number of times, taken once. One owner waits on it, in a task or in a thread.
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

    /// Waits for the flag and takes it.
    pub(crate) async fn raised(&self) {
        while !std::mem::take(&mut *self.is_raised.lock()) {
            // A flag raised before this line has left a permit behind.
            self.for_task.notified().await;
        }
    }

    /// Waits for the flag and takes it; `false` if it was not raised in time.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let mut state = self.is_raised.lock();
        self.for_thread
            .wait_while_for(&mut state, |is_raised| !*is_raised, timeout);
        std::mem::take(&mut *state)
    }
}

/// Tells a thread to end, once and for good.
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

    /// Waits for the time to pass or the flag to be set; tells whether it is.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let mut state = self.is_set.lock();
        self.changed
            .wait_while_for(&mut state, |is_set| !*is_set, timeout);
        *state
    }
}
