//! How long a call may wait, and whether it has begun to change something.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use swarm_os::LockInterrupt;

use super::faults::Faults;

/// Pause before a call that has to wait looks again.
const PAUSE: Duration = Duration::from_millis(2);

/// How long the calls of a handle may wait.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    pub(super) at_most: Duration,
    pub(super) interrupt: LockInterrupt,
}

/// One execution of an operation.
#[derive(Debug, Clone)]
pub(super) struct Call {
    patience: Patience,
    began: Instant,
    /// Whether it is on the caller's thread, where it may not wait.
    is_attempt: bool,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    has_changed: AtomicBool,
    is_abandoned: AtomicBool,
}

impl Call {
    pub(super) fn new(patience: &Patience, is_attempt: bool) -> Self {
        Self {
            patience: patience.clone(),
            began: Instant::now(),
            is_attempt,
            state: Arc::default(),
        }
    }

    /// Returns whether the call may go on. From its first change on it always may, so that an
    /// operation is never cut in two.
    ///
    /// # Errors
    /// How long it has waited.
    pub(super) fn may_write(&self, faults: &Faults, is_repetition: bool) -> Result<(), Duration> {
        let must_finish = self.state.has_changed.load(Ordering::SeqCst);
        if is_repetition && !must_finish && self.is_over() {
            return Err(self.began.elapsed());
        }
        while faults.is_held() {
            if !must_finish && (self.is_attempt || self.is_over()) {
                self.state.is_abandoned.store(true, Ordering::SeqCst);
                return Err(self.began.elapsed());
            }
            self.patience.interrupt.sleep(PAUSE);
        }
        Ok(())
    }

    pub(super) fn has_written(&self) {
        self.state.has_changed.store(true, Ordering::SeqCst);
    }

    /// Returns whether it has to be repeated where it may wait. It has changed nothing then.
    pub(super) fn is_abandoned(&self) -> bool {
        self.state.is_abandoned.load(Ordering::SeqCst)
    }

    fn is_over(&self) -> bool {
        self.patience.interrupt.is_set() || self.began.elapsed() >= self.patience.at_most
    }
}
