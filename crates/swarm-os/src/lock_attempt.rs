//! Executions of an operation that are repeated if a lock is not free.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::flock::{release, retrying_interrupted};

/// One execution of an operation that can be repeated from its beginning until it changes
/// something.
///
/// By default it may not wait for a lock before its first change: a lock that is not free within
/// 0.1 ms marks the attempt as abandoned. From then on nothing can be changed under a lock, so an
/// abandoned attempt has changed nothing. After the first change, locks are waited for as usual.
#[derive(Debug, Clone, Default)]
pub struct LockAttempt {
    stage: Arc<AtomicU8>,
    /// Whether it has its own thread, which waits for the first lock until another thread abandons
    /// the attempt.
    is_on_own_thread: bool,
}

/// Stages of an attempt.
const UNCHANGED: u8 = 0;
const CHANGED: u8 = 1;
const ABANDONED: u8 = 2;

impl LockAttempt {
    pub(crate) fn on_own_thread() -> Self {
        Self {
            is_on_own_thread: true,
            ..Self::default()
        }
    }

    /// Returns whether a lock was not free before the first change: the operation must be repeated.
    pub fn is_abandoned(&self) -> bool {
        self.stage.load(Ordering::SeqCst) == ABANDONED
    }

    /// Records the start of a change. Returns whether it is allowed.
    pub(crate) fn begin_change(&self) -> bool {
        self.enter(CHANGED)
    }

    /// Returns whether the attempt will change nothing: a change that has begun is completed.
    pub(crate) fn abandon(&self) -> bool {
        self.enter(ABANDONED)
    }

    /// Enters the stage, or returns whether the attempt has already entered it.
    fn enter(&self, next: u8) -> bool {
        let entered =
            self.stage
                .compare_exchange(UNCHANGED, next, Ordering::SeqCst, Ordering::SeqCst);
        entered.map_or_else(|stage| stage == next, |_| true)
    }

    /// Returns whether the operation may wait for a lock.
    pub(crate) fn may_wait(&self) -> bool {
        self.is_on_own_thread || self.stage.load(Ordering::SeqCst) == CHANGED
    }

    /// Returns whether this thread may wait for a lock without a timeout.
    pub(crate) fn waits_in_kernel(&self) -> bool {
        self.is_on_own_thread && self.stage.load(Ordering::SeqCst) != CHANGED
    }

    /// Takes the exclusive lock on `file`, without a timeout. Returns `false` if the attempt has been
    /// abandoned meanwhile.
    pub(crate) fn lock(&self, file: &File) -> io::Result<bool> {
        retrying_interrupted(|| file.lock())?;
        let goes_on = self.begin_change();
        if !goes_on {
            release(file);
        }
        Ok(goes_on)
    }
}
