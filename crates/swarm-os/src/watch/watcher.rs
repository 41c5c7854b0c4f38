//! Watching directories: one watcher per process, hints only.
//!
//! An event says that something may have happened; whoever gets one reads the state again. The kernel allows 128
//! inotify instances per user, so a process makes one watcher and shares it. A slow sweep wakes every
//! subscription as well: for network file systems, overflowing queues, and where inotify is used up.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;

use super::backend::Place;
use super::registry::Watched;
use super::signal::{Signal, StopFlag};
use super::subscribers::NameFilter;

/// How far apart sweeps are; each gap is drawn anew, so that processes do not sweep together.
const SWEEP_GAP: Range<Duration> = Duration::from_secs(2)..Duration::from_secs(5);

/// Watches directories for the whole process; clones share one watcher. It ends with its last clone and its
/// last subscription.
#[derive(Debug, Clone)]
pub struct DirectoryWatcher {
    watched: Arc<Watched>,
}

impl DirectoryWatcher {
    /// Starts watching. If the kernel has no watcher to give, the sweep alone wakes the subscriptions, and tries
    /// again each time.
    pub fn new() -> Self {
        Self::start(Watched::new(Place::Threads), SWEEP_GAP)
    }

    /// The same without threads of its own, for a process whose one runtime waits for all that it does: a change wakes
    /// the thread that acts on it, and no other. Nothing is heard while that runtime is kept from its tasks, so only they
    /// may wait for changes.
    ///
    /// # Panics
    /// When the runtime has no driver for files or for time.
    pub fn in_runtime(runtime: &Handle) -> Self {
        let watched = Arc::new(Watched::new(Place::Runtime(runtime.clone())));
        runtime.spawn(Sweeper::of(&watched, SWEEP_GAP).go_on());
        Self { watched }
    }

    fn start(watched: Watched, gap: Range<Duration>) -> Self {
        let watched = Arc::new(watched);
        let sweeper = Sweeper::of(&watched, gap);
        let spawned = thread::Builder::new()
            .name("sweeps watched directories".to_owned())
            .spawn(move || sweeper.run());
        if let Err(error) = spawned {
            tracing::error!(%error, "no thread for the sweep: lost events stay lost");
        }
        Self { watched }
    }

    /// Whether some directory is not watched by the kernel, so that changes are seen by the sweep only.
    pub fn is_degraded(&self) -> bool {
        self.watched.is_degraded()
    }

    /// Watches the names in `directory` that `names` selects. **Subscribe before the first read**, or a change in
    /// between is seen only by the sweep. A directory that is missing, or is replaced later, is watched from the
    /// first sweep that finds it.
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

/// Wakes its owner when something may have changed. What happens between two looks is one wake-up.
#[derive(Debug)]
pub struct Subscription {
    directory: PathBuf,
    signal: Arc<Signal>,
    watched: Arc<Watched>,
}

impl Subscription {
    /// Resolves when something may have changed since the last call, at once if it already has; at the latest
    /// at the next sweep, a few seconds on. Dropping the future loses nothing.
    pub async fn changed(&mut self) {
        self.signal.raised().await;
    }

    /// The same for a plain thread; `false` if `timeout` came first.
    pub fn changed_blocking(&mut self, timeout: Duration) -> bool {
        self.signal.wait(timeout)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.watched.remove(&self.directory, &self.signal);
    }
}

/// The thread or task behind the net. It keeps nothing alive.
struct Sweeper {
    watched: Weak<Watched>,
    stop: Arc<StopFlag>,
    gap: Range<Duration>,
}

impl Sweeper {
    fn of(watched: &Arc<Watched>, gap: Range<Duration>) -> Self {
        Self {
            watched: Arc::downgrade(watched),
            stop: watched.stop_flag(),
            gap,
        }
    }

    async fn go_on(self) {
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
