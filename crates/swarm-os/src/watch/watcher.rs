//! The directory watcher of a process. An event means that something may have changed; its receiver
//! reads the state again. The kernel allows 128 inotify instances per user, so a process creates
//! one watcher and shares it. A periodic sweep also wakes all subscriptions, for network file
//! systems, queue overflows, and exhausted inotify limits.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;

use super::backend::Executor;
use super::registry::Watched;
use super::subscribers::{NameFilter, Signal};

/// Interval between sweeps, randomized so that processes do not sweep at the same time.
const SWEEP_GAP: Range<Duration> = Duration::from_secs(2)..Duration::from_secs(5);

/// Watches directories for the whole process; clones share one watcher. It stops with its last
/// clone and its last subscription.
#[derive(Debug, Clone)]
pub struct DirectoryWatcher {
    watched: Arc<Watched>,
}

impl DirectoryWatcher {
    /// Starts a watcher with its own threads. If inotify is not available, only sweeps wake the
    /// subscriptions; each of them tries again.
    pub fn new() -> Self {
        Self::start(Watched::new(Executor::Threads), SWEEP_GAP)
    }

    /// Starts a watcher without threads, for a process with a single-threaded runtime: a change
    /// wakes the thread that handles it and no other. No events are read while the runtime is
    /// blocked, so only its tasks may wait for changes.
    ///
    /// # Panics
    /// If the runtime has no I/O or time driver.
    pub fn in_runtime(runtime: &Handle) -> Self {
        let watched = Arc::new(Watched::new(Executor::Runtime(runtime.clone())));
        runtime.spawn(Sweeper::of(&watched, SWEEP_GAP).run_in_task());
        Self { watched }
    }

    fn start(watched: Watched, gap: Range<Duration>) -> Self {
        let watched = Arc::new(watched);
        let sweeper = Sweeper::of(&watched, gap);
        let spawned = thread::Builder::new()
            .name("sweep watched directories".to_owned())
            .spawn(move || sweeper.run());
        if let Err(error) = spawned {
            tracing::error!(%error, "could not start the sweep thread: lost events are not detected");
        }
        Self { watched }
    }

    /// Returns whether some directory is not watched by inotify, so that its changes are only
    /// detected by sweeps.
    pub fn is_degraded(&self) -> bool {
        self.watched.is_degraded()
    }

    /// Watches the names in `directory` that `names` selects. **Subscribe before the first read**,
    /// otherwise a change in between is only detected by a sweep. A directory that is missing or
    /// replaced is watched from the first sweep that finds it.
    pub fn subscribe(&self, directory: &Path, names: NameFilter) -> Subscription {
        let signal = Arc::new(Signal::default());
        self.watched.add(directory, names, Arc::clone(&signal));
        Subscription {
            directory: directory.to_owned(),
            signal,
            watched: Arc::clone(&self.watched),
        }
    }
}

impl Default for DirectoryWatcher {
    fn default() -> Self {
        Self::new()
    }
}

/// Wakes its owner when something may have changed. Several changes between two waits cause one
/// wake-up.
#[derive(Debug)]
pub struct Subscription {
    directory: PathBuf,
    signal: Arc<Signal>,
    watched: Arc<Watched>,
}

impl Subscription {
    /// Resolves when something may have changed since the last call, at the latest at the next
    /// sweep, after a few seconds. Dropping the future loses no changes.
    pub async fn changed(&mut self) {
        self.signal.raised().await;
    }

    /// Like [`Subscription::changed`], for a thread. Returns `false` on timeout.
    pub fn changed_blocking(&mut self, timeout: Duration) -> bool {
        self.signal.wait(timeout)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.watched.remove(&self.directory, &self.signal);
    }
}

/// The thread or task of the sweeps. Holds only a weak reference to the registry.
struct Sweeper {
    watched: Weak<Watched>,
    stop: Arc<Signal>,
    gap: Range<Duration>,
}

impl Sweeper {
    fn of(watched: &Arc<Watched>, gap: Range<Duration>) -> Self {
        Self {
            watched: Arc::downgrade(watched),
            stop: watched.stop(),
            gap,
        }
    }

    async fn run_in_task(self) {
        loop {
            tokio::time::sleep(self.draw_gap()).await;
            match self.watched.upgrade() {
                Some(watched) => watched.sweep(),
                None => return,
            }
        }
    }

    fn run(self) {
        while !self.stop.wait(self.draw_gap()) {
            match self.watched.upgrade() {
                Some(watched) => watched.sweep(),
                None => return,
            }
        }
    }

    fn draw_gap(&self) -> Duration {
        use std::hash::{BuildHasher, RandomState};
        let spread = self.gap.end.saturating_sub(self.gap.start).as_nanos();
        let spread = u64::try_from(spread).unwrap_or(u64::MAX).max(1);
        // The hasher's keys are the only randomness in std.
        self.gap.start + Duration::from_nanos(RandomState::new().hash_one(()) % spread)
    }
}

#[cfg(test)]
#[path = "watcher_tests.rs"]
mod tests;
