//! The directories a process watches, and who is to be woken for each.

use std::collections::HashMap;
use std::fs;
#[cfg(test)]
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::backend::{Listener, Place};
#[cfg(test)]
use super::inotify::News;
use super::signal::{Signal, StopFlag};
use super::subscribers::{NameFilter, Subscribers};

/// Two locks with one order: `kernel` before `subscribers`. Whoever reads events takes `subscribers` only; a listener that is
/// replaced or dropped waits for the end of its thread, so `subscribers` is not held then.
#[derive(Debug)]
pub(crate) struct Watched {
    kernel: Mutex<Kernel>,
    subscribers: Arc<Subscribers>,
    stop: Arc<StopFlag>,
}

/// The kernel's side: the one watcher, and which directory it looks at under each path.
#[derive(Debug, Default)]
struct Kernel {
    /// Where events are read; none where the kernel is not asked.
    place: Option<Place>,
    listener: Option<Listener>,
    directories: HashMap<PathBuf, Option<Birth>>,
    sweeps: u32,
}

/// How many sweeps lie between two that set every watch anew: one that was lost unseen is rare.
const SWEEPS_TO_RENEW: u32 = 16;

/// Which directory stood at a path: an inode number alone is soon given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Birth {
    device: u64,
    inode: u64,
    made: Option<SystemTime>,
}

impl Watched {
    pub(crate) fn new(place: Place) -> Self {
        let watched = Self::sweep_only();
        let mut kernel = watched.kernel.lock();
        kernel.place = Some(place);
        kernel.listen(&watched.subscribers);
        drop(kernel);
        watched
    }

    /// Never asks the kernel.
    pub(crate) fn sweep_only() -> Self {
        Self {
            kernel: Mutex::default(),
            subscribers: Arc::default(),
            stop: Arc::default(),
        }
    }

    pub(crate) fn stop_flag(&self) -> Arc<StopFlag> {
        Arc::clone(&self.stop)
    }

    pub(crate) fn is_degraded(&self) -> bool {
        let kernel = self.kernel.lock();
        kernel.listener.is_none() || kernel.directories.values().any(Option::is_none)
    }

    pub(crate) fn add(&self, directory: &Path, names: NameFilter, signal: Arc<Signal>) {
        let mut kernel = self.kernel.lock();
        self.subscribers.add(directory, names, signal);
        if !kernel.directories.contains_key(directory) {
            kernel.directories.insert(directory.to_owned(), None);
        }
        kernel.watch(directory);
    }

    pub(crate) fn remove(&self, directory: &Path, signal: &Arc<Signal>) {
        let mut kernel = self.kernel.lock();
        if self.subscribers.remove(directory, signal) {
            kernel.unwatch(directory);
            kernel.directories.remove(directory);
        }
    }

    /// Finds directories that were replaced, then wakes everybody.
    pub(crate) fn sweep(&self) {
        let mut kernel = self.kernel.lock();
        if kernel.listener.is_none() || self.subscribers.has_lost_events() {
            kernel.listen(&self.subscribers);
        }
        let renews = kernel.sweeps.is_multiple_of(SWEEPS_TO_RENEW);
        kernel.sweeps = kernel.sweeps.wrapping_add(1);
        let directories: Vec<PathBuf> = kernel.directories.keys().cloned().collect();
        for directory in directories {
            if renews || !kernel.is_in_sight(&directory) {
                kernel.watch(&directory);
            }
        }
        drop(kernel);
        self.subscribers.wake_all();
    }

    #[cfg(test)]
    pub(crate) fn hear(&self, news: News<'_>) {
        self.subscribers.hear(news);
    }

    #[cfg(test)]
    pub(crate) fn lose_events(&self) {
        self.subscribers
            .lose_events(&io::Error::other("on purpose"));
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stop.set();
    }
}

impl Kernel {
    /// Begins to listen, where that is wanted and can be had. Nothing is watched yet then.
    fn listen(&mut self, subscribers: &Arc<Subscribers>) {
        let Some(place) = &self.place else {
            return;
        };
        self.listener = match Listener::start(place, subscribers) {
            Ok(listener) => Some(listener),
            Err(error) => {
                tracing::warn!(%error, "the kernel tells of no changes: they are seen by the sweep only");
                None
            }
        };
        self.directories.values_mut().for_each(|seen| *seen = None);
    }

    /// Whether the directory that stands at this path is the one that is watched.
    fn is_in_sight(&self, directory: &Path) -> bool {
        let watched = self.directories.get(directory).copied().flatten();
        self.listener.is_some() && watched.is_some() && watched == birth_of(directory)
    }

    /// Watches whatever directory stands at this path. Asking again for the same directory is harmless, and mends a
    /// watch that was lost unseen.
    fn watch(&mut self, directory: &Path) {
        let before = self.directories.get(directory).copied().flatten();
        let there = birth_of(directory);
        if before.is_some() && before != there {
            self.unwatch(directory);
        }
        let Some(listener) = &self.listener else {
            return;
        };
        let in_sight = there.filter(|_| {
            listener
                .watch(directory)
                .inspect_err(|error| {
                    tracing::warn!(directory = %directory.display(), %error, "not watched, only swept");
                })
                .is_ok()
        });
        self.directories.insert(directory.to_owned(), in_sight);
    }

    fn unwatch(&mut self, directory: &Path) {
        if let Some(listener) = &self.listener
            && let Err(error) = listener.unwatch(directory)
        {
            // The watch of a deleted directory has ended by itself.
            tracing::trace!(directory = %directory.display(), %error, "was not watched");
        }
    }
}

fn birth_of(directory: &Path) -> Option<Birth> {
    let metadata = fs::metadata(directory).ok().filter(fs::Metadata::is_dir)?;
    Some(Birth {
        device: metadata.dev(),
        inode: metadata.ino(),
        made: metadata.created().ok(),
    })
}
