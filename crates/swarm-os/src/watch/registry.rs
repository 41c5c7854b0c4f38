//! The watched directories of a process and their subscribers.

use std::collections::HashMap;
use std::fs;
#[cfg(test)]
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::backend::{Executor, Listener};
#[cfg(test)]
use super::inotify::FileEvent;
use super::subscribers::Signal;
use super::subscribers::{NameFilter, Subscribers};

/// Lock order: `kernel` before `subscribers`. The reader of events only takes `subscribers`.
/// Replacing or dropping a listener waits for its thread, so `subscribers` must not be locked then.
#[derive(Debug)]
pub(crate) struct Watched {
    kernel: Mutex<Kernel>,
    subscribers: Arc<Subscribers>,
    /// Raised when the registry is dropped, for its sweeper.
    stop: Arc<Signal>,
}

/// The listener, and the watched directory at each path.
#[derive(Debug, Default)]
struct Kernel {
    /// Where events are read; `None` without inotify.
    executor: Option<Executor>,
    listener: Option<Listener>,
    directories: HashMap<PathBuf, Option<DirectoryIdentity>>,
    sweeps: u32,
}

/// Number of sweeps after which all watches are renewed. Losing a watch without an event is rare.
const SWEEPS_TO_RENEW: u32 = 16;

/// Identity of a directory. An inode number alone may be reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DirectoryIdentity {
    device: u64,
    inode: u64,
    made: Option<SystemTime>,
}

impl Watched {
    pub(crate) fn new(executor: Executor) -> Self {
        let watched = Self::sweep_only();
        let mut kernel = watched.kernel.lock();
        kernel.executor = Some(executor);
        kernel.listen(&watched.subscribers);
        drop(kernel);
        watched
    }

    /// Creates a registry without inotify.
    pub(crate) fn sweep_only() -> Self {
        Self {
            kernel: Mutex::default(),
            subscribers: Arc::default(),
            stop: Arc::default(),
        }
    }

    pub(crate) fn stop(&self) -> Arc<Signal> {
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

    /// Watches directories that were replaced, then wakes all subscribers.
    pub(crate) fn sweep(&self) {
        let mut kernel = self.kernel.lock();
        if kernel.listener.is_none() || self.subscribers.has_lost_events() {
            kernel.listen(&self.subscribers);
        }
        let renews = kernel.sweeps.is_multiple_of(SWEEPS_TO_RENEW);
        kernel.sweeps = kernel.sweeps.wrapping_add(1);
        let directories: Vec<PathBuf> = kernel.directories.keys().cloned().collect();
        for directory in directories {
            if renews || !kernel.is_watched(&directory) {
                kernel.watch(&directory);
            }
        }
        drop(kernel);
        self.subscribers.wake_all();
    }

    #[cfg(test)]
    pub(crate) fn dispatch(&self, event: FileEvent<'_>) {
        self.subscribers.dispatch(event);
    }

    #[cfg(test)]
    pub(crate) fn lose_events(&self) {
        self.subscribers
            .lose_events(&io::Error::other("on purpose"));
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stop.raise();
    }
}

impl Kernel {
    /// Starts a listener, if possible. It does not watch any directory yet.
    fn listen(&mut self, subscribers: &Arc<Subscribers>) {
        let Some(executor) = &self.executor else {
            return;
        };
        self.listener = match Listener::start(executor, subscribers) {
            Ok(listener) => Some(listener),
            Err(error) => {
                tracing::warn!(%error, "inotify is not available: changes are only detected by periodic sweeps");
                None
            }
        };
        self.directories.values_mut().for_each(|seen| *seen = None);
    }

    /// Returns whether the directory at this path is the watched one.
    fn is_watched(&self, directory: &Path) -> bool {
        let watched = self.directories.get(directory).copied().flatten();
        self.listener.is_some() && watched.is_some() && watched == identity_of(directory)
    }

    /// Watches the directory at this path. Repeating it is harmless, and restores a lost watch.
    fn watch(&mut self, directory: &Path) {
        let before = self.directories.get(directory).copied().flatten();
        let current = identity_of(directory);
        if before.is_some() && before != current {
            self.unwatch(directory);
        }
        let Some(listener) = &self.listener else {
            return;
        };
        let watched = current.filter(|_| {
            listener
                .watch(directory)
                .inspect_err(|error| {
                    tracing::warn!(directory = %directory.display(), %error, "could not watch a directory: changes are only detected by periodic sweeps");
                })
                .is_ok()
        });
        self.directories.insert(directory.to_owned(), watched);
    }

    fn unwatch(&mut self, directory: &Path) {
        if let Some(listener) = &self.listener
            && let Err(error) = listener.unwatch(directory)
        {
            // The kernel removes the watch of a deleted directory.
            tracing::trace!(directory = %directory.display(), %error, "the directory was not watched");
        }
    }
}

fn identity_of(directory: &Path) -> Option<DirectoryIdentity> {
    let metadata = fs::metadata(directory).ok().filter(fs::Metadata::is_dir)?;
    Some(DirectoryIdentity {
        device: metadata.dev(),
        inode: metadata.ino(),
        made: metadata.created().ok(),
    })
}
