//! Waits for file locks with a timeout.

use std::fs::File;
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::OsError;
use crate::error::OnPath as _;
use crate::flock::was_free;
use crate::lock_attempt::LockAttempt;

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
        Self::since(Instant::now(), limit)
    }

    /// For a wait that began earlier.
    pub(crate) fn since(began: Instant, limit: Duration) -> Self {
        Self {
            began,
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
                // A concurrent change of another thread wins.
                let _abandoned = attempt.abandon();
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

    pub(crate) fn began(&self) -> Instant {
        self.began
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

    /// Returns how long a thread may sleep before it looks again: an interrupt does not wake it.
    pub(crate) fn until_check(&self) -> Duration {
        let remaining = self.remaining();
        self.interrupt
            .map_or(remaining, |_| remaining.min(INTERRUPTED_LIMIT))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.remaining().is_zero()
    }
}

/// Duration of busy retries before a thread waits for the lock: starting the thread takes about as
/// long, and most locks are free again by then.
const SPIN: Duration = Duration::from_micros(100);

/// Takes the exclusive lock on `file`. Returns `false` on timeout. The kernel has no lock call with
/// a timeout, and a retry loop is both late and unfair. So a thread blocks on a second descriptor
/// of the same open file, which locks `file` as well, unless this thread is there to wait.
fn lock_exclusive(file: &File, deadline: Deadline<'_>) -> io::Result<bool> {
    if let Some(attempt) = deadline.attempt.filter(|attempt| attempt.waits_in_kernel()) {
        return attempt.lock(file);
    }
    let began = Instant::now();
    loop {
        let taken = was_free(|| file.try_lock())?;
        let has_spun = began.elapsed() > SPIN;
        // An attempt that may not wait would be repeated from its beginning.
        let tries_again = !has_spun && deadline.attempt.is_some();
        if taken || (deadline.is_over() && !tries_again) {
            return Ok(taken);
        }
        if has_spun {
            let file = file.try_clone()?;
            let attempt = LockAttempt::on_own_thread();
            let taken = run_on_thread(deadline, &attempt, move |attempt| attempt.lock(&file))?;
            return taken.unwrap_or(Ok(false));
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
