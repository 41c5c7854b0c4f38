//! Flags that threads and tasks wait on.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
        *self.state() = true;
        self.for_thread.notify_one();
        self.for_task.notify_one();
    }

    /// Waits for the flag and takes it.
    pub(crate) async fn raised(&self) {
        while !std::mem::take(&mut *self.state()) {
            // A flag raised before this line has left a permit behind.
            self.for_task.notified().await;
        }
    }

    /// Waits for the flag and takes it; `false` if it was not raised in time.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let (mut state, _) = self
            .for_thread
            .wait_timeout_while(self.state(), timeout, |is_raised| !*is_raised)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *state)
    }

    fn state(&self) -> MutexGuard<'_, bool> {
        self.is_raised
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for the time to pass or the flag to be set; tells whether it is.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let state = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, _) = self
            .changed
            .wait_timeout_while(state, timeout, |is_set| !*is_set)
            .unwrap_or_else(PoisonError::into_inner);
        *state
    }
}
