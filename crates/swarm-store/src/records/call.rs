//! How long a call may wait, and whether it has begun to change something.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use swarm_os::LockInterrupt;

use super::space::Space;

/// Pause before a call that has to wait looks again.
const PAUSE: Duration = Duration::from_millis(2);

/// How long a call waits by default, as with files.
const DEADLINE: Duration = Duration::from_secs(20);

/// Longest wait for the answer to one request.
const REQUEST: Duration = Duration::from_secs(5);

/// Longest wait for the answer to the first request after an interrupt. A hub that works answers sooner.
const INTERRUPTED: Duration = Duration::from_millis(200);

/// How long a call that has changed something continues after its deadline. A server that recognizes
/// repeated writes for some time must do so for longer.
const COMPLETION: Duration = Duration::from_mins(1);

/// How long the calls of a handle may wait.
#[derive(Debug, Clone)]
pub(crate) struct Patience {
    pub(crate) at_most: Duration,
    pub(crate) interrupt: LockInterrupt,
}

impl Patience {
    pub(crate) fn new(interrupt: LockInterrupt) -> Self {
        let at_most = DEADLINE;
        Self { at_most, interrupt }
    }
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

    /// Returns whether the call may continue. From its first change on it always may, so that an
    /// operation is never cut in two.
    ///
    /// # Errors
    /// How long it has waited.
    pub(super) fn may_write(&self, space: &dyn Space, is_repetition: bool) -> Result<(), Duration> {
        let must_finish = self.has_written();
        if is_repetition && !must_finish && self.is_over() {
            return Err(self.began.elapsed());
        }
        while !space.accepts_writes() {
            if !must_finish && (self.is_attempt || self.is_over()) {
                self.state.is_abandoned.store(true, Ordering::SeqCst);
                return Err(self.began.elapsed());
            }
            self.patience.interrupt.sleep(PAUSE);
        }
        Ok(())
    }

    /// Returns whether the call may ask a server that is not in this process. If it may not, it is
    /// repeated where it may wait.
    pub(super) fn may_ask(&self) -> bool {
        if self.is_attempt {
            self.state.is_abandoned.store(true, Ordering::SeqCst);
        }
        !self.is_attempt
    }

    /// Returns whether a request that was not answered may be repeated. `may_be_done` says whether
    /// it may have changed something.
    pub(super) fn may_repeat(&self, may_be_done: bool) -> bool {
        if may_be_done || self.has_written() {
            self.began.elapsed() < self.patience.at_most + COMPLETION
        } else {
            !self.is_over()
        }
    }

    /// Returns how long the next request may wait for its answer.
    pub(super) fn of_request(&self, may_be_done: bool) -> Duration {
        if may_be_done || self.has_written() {
            return REQUEST;
        }
        let left = self.patience.at_most.saturating_sub(self.began.elapsed());
        if self.patience.interrupt.is_set() {
            left.min(INTERRUPTED)
        } else {
            left.min(REQUEST)
        }
    }

    pub(super) fn note_write(&self) {
        self.state.has_changed.store(true, Ordering::SeqCst);
    }

    /// Returns whether it has to be repeated where it may wait. It has changed nothing then.
    pub(super) fn is_abandoned(&self) -> bool {
        self.state.is_abandoned.load(Ordering::SeqCst)
    }

    fn has_written(&self) -> bool {
        self.state.has_changed.load(Ordering::SeqCst)
    }

    fn is_over(&self) -> bool {
        self.patience.interrupt.is_set() || self.began.elapsed() >= self.patience.at_most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_an_interrupt_a_call_asks_once_and_repeats_nothing() {
        let interrupt = LockInterrupt::default();
        let call = Call::new(&Patience::new(interrupt.clone()), false);
        assert_eq!(call.of_request(false), REQUEST);
        interrupt.interrupt();
        assert_eq!(call.of_request(false), INTERRUPTED);
        assert!(!call.may_repeat(false));
    }
}
