//! Waits for file locks with a timeout.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::OsError;
use crate::error::OnPath as _;

/// Timeout of lock waits after an interrupt: enough for a lock that is in normal use.
const INTERRUPTED_LIMIT: Duration = Duration::from_millis(25);

/// Timeout of waits for the locks of other programs once they are hurried. They hold a lock for the
/// duration of one write.
const HURRIED_LIMIT: Duration = Duration::from_millis(50);

/// Interrupts waits for locks: waits in progress end, and later ones time out after 25 ms. For a
/// process that must stop although another process does not release a lock.
#[derive(Debug, Clone, Default)]
pub struct LockInterrupt(Arc<(Mutex<Interruption>, Condvar)>);

#[derive(Debug, Default)]
struct Interruption {
    /// When waits are interrupted, if they will be.
    at: Option<Instant>,
    /// Whether waits for other programs are short.
    is_hurried: bool,
}

impl LockInterrupt {
    /// Limits present and future waits for locks of other programs to 50 ms: a program that holds
    /// one for longer may hang. Waits for processes of swarm are not affected, also for one that waits
    /// for another program while it holds further locks: [`LockInterrupt::interrupt_at`] limits these.
    pub fn hurry(&self) {
        let (state, changed) = &*self.0;
        state.lock().is_hurried = true;
        changed.notify_all();
    }

    /// Interrupts present and future waits.
    pub fn interrupt(&self) {
        self.interrupt_at(Instant::now());
    }

    /// Interrupts waits at this time; the earliest one counts.
    pub fn interrupt_at(&self, time: Instant) {
        let (state, changed) = &*self.0;
        let mut state = state.lock();
        state.at = Some(state.at.map_or(time, |earlier| earlier.min(time)));
        changed.notify_all();
    }

    /// Returns whether waits are interrupted.
    pub fn is_set(&self) -> bool {
        self.remaining() == Some(Duration::ZERO)
    }

    /// Returns the time that is left before the interrupt, if there will be one.
    fn remaining(&self) -> Option<Duration> {
        let end = self.0.0.lock().at;
        end.map(|end| end.saturating_duration_since(Instant::now()))
    }

    fn is_hurried(&self) -> bool {
        self.0.0.lock().is_hurried
    }

    /// Sleeps for `pause`, or until the interrupt or a call of [`LockInterrupt::hurry`].
    pub fn sleep(&self, pause: Duration) {
        let (state, changed) = &*self.0;
        let mut state = state.lock();
        let was_hurried = state.is_hurried;
        let goes_on = |state: &mut Interruption| {
            state.is_hurried == was_hurried && state.at.is_none_or(|end| Instant::now() < end)
        };
        changed.wait_while_for(&mut state, goes_on, pause);
    }
}

/// One execution of an operation that may not wait for a lock while it can still be repeated from
/// its beginning.
///
/// Until the first change, a lock that is not free fails immediately and marks the attempt as
/// abandoned. From then on nothing can be changed under a lock, so an abandoned attempt has changed
/// nothing. After the first change, locks are waited for as usual.
#[derive(Debug, Clone, Default)]
pub struct LockAttempt(Arc<AtomicU8>);

/// Stages of an attempt.
const UNCHANGED: u8 = 0;
const CHANGED: u8 = 1;
const ABANDONED: u8 = 2;

impl LockAttempt {
    /// Returns whether a lock was not free before the first change: the operation must be repeated.
    pub fn is_abandoned(&self) -> bool {
        self.0.load(Ordering::SeqCst) == ABANDONED
    }

    /// Records the start of a change. Returns whether it is allowed.
    pub(crate) fn begin_change(&self) -> bool {
        let begun = self
            .0
            .compare_exchange(UNCHANGED, CHANGED, Ordering::SeqCst, Ordering::SeqCst);
        begun.map_or_else(|stage| stage == CHANGED, |_| true)
    }

    fn abandon(&self) {
        // A concurrent change of another thread wins.
        let _stage =
            self.0
                .compare_exchange(UNCHANGED, ABANDONED, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Returns whether the operation can no longer be repeated and may therefore wait.
    pub(crate) fn may_wait(&self) -> bool {
        self.0.load(Ordering::SeqCst) == CHANGED
    }
}

/// The start of a wait, its limit, and what may interrupt it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline<'a> {
    began: Instant,
    limit: Duration,
    interrupt: Option<&'a LockInterrupt>,
    attempt: Option<&'a LockAttempt>,
    /// Whether another program holds the lock.
    is_for_other: bool,
}

impl<'a> Deadline<'a> {
    pub(crate) fn after(limit: Duration) -> Self {
        Self {
            began: Instant::now(),
            limit,
            interrupt: None,
            attempt: None,
            is_for_other: false,
        }
    }

    /// For a lock that only another program can hold.
    pub(crate) fn for_other_program(self) -> Self {
        Self {
            is_for_other: true,
            ..self
        }
    }

    pub(crate) fn or_interrupt(self, interrupt: Option<&'a LockInterrupt>) -> Self {
        Self { interrupt, ..self }
    }

    pub(crate) fn or_attempt(self, attempt: Option<&'a LockAttempt>) -> Self {
        Self { attempt, ..self }
    }

    /// The error of a lock that was not free in time.
    pub(crate) fn missed(&self, path: &Path, holder: impl FnOnce() -> String) -> OsError {
        let in_attempt = self.attempt.filter(|attempt| !attempt.may_wait());
        let holder = match in_attempt {
            // The description is not used: the operation is repeated.
            Some(attempt) => {
                attempt.abandon();
                String::new()
            }
            None => holder(),
        };
        OsError::LockTimeout {
            path: path.to_owned(),
            holder,
            waited: self.waited(),
        }
    }

    fn waited(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn remaining(&self) -> Duration {
        if self.attempt.is_some_and(|attempt| !attempt.may_wait()) {
            return Duration::ZERO;
        }
        let waited = self.waited();
        let is_hurried = self.is_for_other && self.interrupt.is_some_and(LockInterrupt::is_hurried);
        let limit = if is_hurried {
            self.limit.min(HURRIED_LIMIT)
        } else {
            self.limit
        };
        let remaining = limit.saturating_sub(waited);
        match self.interrupt.and_then(LockInterrupt::remaining) {
            Some(end) => remaining.min(end.max(INTERRUPTED_LIMIT.saturating_sub(waited))),
            None => remaining,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.remaining().is_zero()
    }
}

#[derive(Debug)]
enum Stage {
    Waiting,
    Over(io::Result<()>),
    GivenUp,
}

/// Duration of busy retries before a thread waits for the lock: starting the thread takes about as
/// long, and most locks are free again by then.
const SPIN: Duration = Duration::from_micros(100);

/// Takes the exclusive lock on `file`. Returns `false` on timeout. The kernel has no lock call with
/// a timeout, and a retry loop is both late and unfair. So a thread blocks on a second descriptor
/// of the same open file, which locks `file` as well. On timeout, the thread keeps waiting and
/// releases the lock as soon as it gets it.
fn lock_exclusive(file: &File, deadline: Deadline<'_>) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        let taken = was_free(|| file.try_lock())?;
        if taken || deadline.is_over() {
            return Ok(taken);
        }
        if began.elapsed() > SPIN {
            return lock_in_thread(file.try_clone()?, deadline);
        }
        thread::yield_now();
    }
}

/// Like [`lock_exclusive`]; a timeout is an error that names the holder.
pub(crate) fn lock_within(
    path: &Path,
    file: &File,
    deadline: Deadline<'_>,
    holder: impl FnOnce(&File) -> String,
) -> Result<(), OsError> {
    if lock_exclusive(file, deadline).or_io(path, "lock")? {
        return Ok(());
    }
    Err(deadline.missed(path, || holder(file)))
}

fn lock_in_thread(file: File, deadline: Deadline<'_>) -> io::Result<bool> {
    let shared = Arc::new((Mutex::new(Stage::Waiting), Condvar::new()));
    let shared_with_thread = Arc::clone(&shared);
    thread::Builder::new()
        .name("wait for a lock".to_owned())
        .spawn(move || {
            let outcome = retrying_interrupted(|| file.lock());
            let (stage, changed) = &*shared_with_thread;
            let mut stage = stage.lock();
            if matches!(*stage, Stage::GivenUp) {
                return file.unlock();
            }
            *stage = Stage::Over(outcome);
            changed.notify_one();
            Ok(())
        })?;
    let (stage, changed) = &*shared;
    let mut stage = stage.lock();
    while matches!(*stage, Stage::Waiting) && !deadline.is_over() {
        let remaining = deadline.remaining();
        let until_check = deadline
            .interrupt
            .map_or(remaining, |_| remaining.min(INTERRUPTED_LIMIT));
        changed.wait_for(&mut stage, until_check);
    }
    // The thread is not joined: that would wait for its exit with the lock held.
    match std::mem::replace(&mut *stage, Stage::GivenUp) {
        Stage::Over(outcome) => outcome.map(|()| true),
        Stage::Waiting | Stage::GivenUp => Ok(false),
    }
}

/// Releases a lock before its descriptor is closed. A child that another thread has just forked
/// holds a copy of the descriptor until it calls `exec`, and would keep the lock if this process
/// only closed its own descriptor.
pub(crate) fn release(file: &File) {
    if let Err(error) = file.unlock() {
        tracing::debug!(%error, "lock not released before its descriptor is closed");
    }
}

/// Repeats an attempt to lock while signals interrupt it. Returns whether the lock was free.
pub(crate) fn was_free(mut attempt: impl FnMut() -> Result<(), TryLockError>) -> io::Result<bool> {
    retrying_interrupted(|| match attempt() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    })
}

/// Repeats a call while signals interrupt it: the lock calls of std do not.
pub(crate) fn retrying_interrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Sleeps for `pause`, or until the deadline if that is sooner.
#[expect(
    clippy::disallowed_methods,
    reason = "there is no notification when another program removes its lock directory"
)]
pub(crate) fn back_off(pause: Duration, deadline: Deadline<'_>) {
    let pause = pause.min(deadline.remaining());
    match deadline.interrupt {
        Some(interrupt) if !interrupt.is_set() => interrupt.sleep(pause),
        _ => thread::sleep(pause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock_is_missed(attempt: &LockAttempt) {
        let deadline = Deadline::after(Duration::from_mins(1)).or_attempt(Some(attempt));
        drop(deadline.missed(Path::new("inbox.json"), String::new));
    }

    #[test]
    fn an_attempt_waits_for_no_lock_until_something_was_changed() {
        let attempt = LockAttempt::default();
        let deadline = Deadline::after(Duration::from_mins(1)).or_attempt(Some(&attempt));
        assert!(deadline.is_over());
        assert!(attempt.begin_change());
        assert!(!deadline.is_over());
        // It cannot be repeated any more.
        lock_is_missed(&attempt);
        assert!(!attempt.is_abandoned());
    }

    #[test]
    fn an_abandoned_attempt_changes_nothing() {
        let attempt = LockAttempt::default();
        lock_is_missed(&attempt);
        assert!(attempt.is_abandoned());
        assert!(!attempt.begin_change());
    }
    #[test]
    fn an_interrupted_wait_lasts_long_enough_for_a_lock_in_normal_use() {
        let interrupt = LockInterrupt::default();
        interrupt.interrupt();
        // It begins in a minute, so nothing of it is over.
        let deadline = Deadline {
            began: Instant::now() + Duration::from_mins(1),
            ..Deadline::after(Duration::from_mins(1)).or_interrupt(Some(&interrupt))
        };
        assert_eq!(deadline.remaining(), INTERRUPTED_LIMIT);
    }

    #[test]
    fn an_interrupt_ends_a_sleep() {
        for _ in 0..100 {
            let interrupt = LockInterrupt::default();
            thread::scope(|scope| {
                let (begins, begun) = std::sync::mpsc::channel();
                let sleeper = interrupt.clone();
                scope.spawn(move || {
                    begins.send(()).unwrap();
                    sleeper.sleep(Duration::from_hours(1));
                });
                begun.recv().unwrap();
                thread::yield_now();
                interrupt.interrupt();
            });
        }
    }
}
