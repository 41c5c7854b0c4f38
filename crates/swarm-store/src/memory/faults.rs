//! Disturbances of a memory store: delays, conflicts and lost acknowledgements, chosen by a seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// What happens to the steps of operations. A step reads or writes one record.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Seed of the schedule; `None` without disturbances.
    seed: Option<u64>,
    /// Number of steps so far.
    steps: AtomicU64,
    /// Number of [`Hold`]s.
    holds: AtomicUsize,
    silence: Mutex<Unanswered>,
    /// Notified when requests are answered again.
    is_over: Condvar,
}

/// Requests during a [`Silence`].
#[derive(Debug, Default)]
struct Unanswered {
    is_silent: bool,
    /// How many have waited for an answer.
    asked: usize,
}

/// What happens to one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// Another writer wins.
    Conflict,
    /// It does not arrive, and the writer does not learn that.
    LostRequest,
    /// It is written, and the writer does not learn that.
    LostAcknowledgement,
}

impl Faults {
    /// Disturbs many steps, always the same ones for a seed and an order of steps.
    pub(super) fn seeded(seed: u64) -> Self {
        Self {
            seed: Some(seed),
            ..Self::default()
        }
    }

    /// Lets other threads run, at some steps.
    pub(super) fn delay(&self) {
        let Some(random) = self.random() else { return };
        if random % 4 == 0 {
            for _ in 0..random / 4 % 8 {
                thread::yield_now();
            }
        }
    }

    pub(super) fn of_write(&self) -> Fault {
        match self.random().map(|random| random % 8) {
            Some(0) => Fault::Conflict,
            Some(1) => Fault::LostRequest,
            Some(2) => Fault::LostAcknowledgement,
            _ => Fault::None,
        }
    }

    /// Makes all writes wait.
    pub(super) fn hold(self: &Arc<Self>) -> Hold {
        self.holds.fetch_add(1, Ordering::SeqCst);
        Hold(Arc::clone(self))
    }

    pub(super) fn is_held(&self) -> bool {
        self.holds.load(Ordering::SeqCst) > 0
    }

    /// Answers no request.
    pub(super) fn silence(self: &Arc<Self>) -> Silence {
        *self.silence.lock() = Unanswered {
            is_silent: true,
            asked: 0,
        };
        Silence(Arc::clone(self))
    }

    pub(super) fn is_silent(&self) -> bool {
        self.silence.lock().is_silent
    }

    /// Waits until requests are answered. Returns `false` if they are not in time.
    pub(super) fn is_answered(&self, at_most: Duration) -> bool {
        let mut silence = self.silence.lock();
        if silence.is_silent {
            silence.asked += 1;
        }
        let is_silent = |silence: &mut Unanswered| silence.is_silent;
        let waited = self
            .is_over
            .wait_while_for(&mut silence, is_silent, at_most);
        !waited.timed_out()
    }

    /// The next number of the schedule (the generator `SplitMix64`).
    fn random(&self) -> Option<u64> {
        let step = self.steps.fetch_add(1, Ordering::Relaxed);
        let mut mixed = self
            .seed?
            .wrapping_add(step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(mixed ^ (mixed >> 31))
    }
}

/// Makes all writes of a memory store wait until it is dropped.
#[derive(Debug)]
pub struct Hold(Arc<Faults>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.holds.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Makes a memory store answer no request until it is dropped.
#[derive(Debug)]
pub struct Silence(Arc<Faults>);

impl Silence {
    /// Returns whether a request has waited for an answer.
    pub fn is_noticed(&self) -> bool {
        self.0.silence.lock().asked > 0
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        self.0.silence.lock().is_silent = false;
        self.0.is_over.notify_all();
    }
}
