//! Executions of an operation that are repeated if a lock is not free, and threads that wait.

use std::fs::File;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use crate::LockOptions;
use crate::waiting::{Deadline, release, retrying_interrupted};

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

impl LockOptions {
    /// Runs an operation on a new thread, which waits for its first lock. It is repeated on the calling
    /// thread if the lock was not free in time, and fails there unless it is free by then. The
    /// operation must take the lock with the options that it gets.
    ///
    /// Without this, the thread that gets a lock in time would have to wake the one that waits until
    /// the deadline, while other processes wait for the lock.
    pub fn run_waiting<T: Send + 'static>(
        &self,
        operation: impl Fn(&Self) -> T + Send + Sync + 'static,
    ) -> T {
        let deadline = self.deadline();
        let began = deadline.began();
        let operation = Arc::new(operation);
        let (options, repeatable) = (self.clone(), Arc::clone(&operation));
        let done = run_on_thread(deadline, &LockAttempt::on_own_thread(), move |attempt| {
            repeatable(&Self {
                attempt: Some(attempt.clone()),
                ..options
            })
        });
        match done {
            Ok(Some(done)) => done,
            Ok(None) => operation(&Self {
                waiting_since: Some(began),
                ..self.clone()
            }),
            Err(error) => {
                tracing::debug!(%error, "no thread to wait for a lock");
                operation(self)
            }
        }
    }
}

/// Makes an attempt on its own thread, which the kernel wakes with the lock: the holder never waits
/// for another thread of its process. Returns `None` if it has no lock at the deadline. It is
/// abandoned then, and its thread ends as soon as it gets the lock.
pub(crate) fn run_on_thread<T: Send + 'static>(
    deadline: Deadline<'_>,
    attempt: &LockAttempt,
    work: impl FnOnce(&LockAttempt) -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let (finish, finished) = mpsc::channel();
    let own = attempt.clone();
    let thread = thread::Builder::new()
        .name("wait for a lock".to_owned())
        .spawn(move || {
            // Nobody receives it if the attempt was abandoned.
            finish.send(work(&own)).ok();
        })?;
    loop {
        match finished.recv_timeout(deadline.until_check()) {
            Ok(done) => return Ok(Some(done)),
            Err(RecvTimeoutError::Timeout) if !deadline.is_over() => {}
            Err(RecvTimeoutError::Timeout) if attempt.abandon() => return Ok(None),
            Err(_) => break,
        }
    }
    match finished.recv() {
        Ok(done) => Ok(Some(done)),
        Err(_) => thread
            .join()
            .map_or_else(|cause| resume_unwind(cause), |()| Ok(None)),
    }
}
