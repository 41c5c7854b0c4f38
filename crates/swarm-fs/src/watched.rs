//! The folders a process watches, and who is to be woken for each.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::contained::folder_of;
use crate::signal::{Signal, StopFlag};
use crate::watch::NameFilter;

/// Two locks with one order: `kernel` before `subscribers`. The event thread takes `subscribers` only, and whoever
/// talks to the event thread (adding and removing a watch waits for its answer) holds `kernel` only.
#[derive(Debug)]
pub(crate) struct Watched {
    kernel: Mutex<Kernel>,
    subscribers: Arc<Subscribers>,
    stop: Arc<StopFlag>,
}

/// The kernel's side: the one watcher, and which folder it looks at under each path.
#[derive(Debug, Default)]
struct Kernel {
    is_wanted: bool,
    watcher: Option<RecommendedWatcher>,
    folders: HashMap<PathBuf, Option<Birth>>,
    sweeps: u32,
}

/// How many sweeps lie between two that set every watch anew: one that was lost unseen is rare, and each costs the thread
/// of the events two wake-ups.
const SWEEPS_TO_RENEW: u32 = 16;

/// Which folder stood at a path: an inode number alone is soon given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Birth {
    device: u64,
    inode: u64,
    made: Option<SystemTime>,
}

impl Watched {
    pub(crate) fn new() -> Self {
        let watched = Self::sweep_only();
        let mut kernel = watched.kernel();
        kernel.is_wanted = true;
        kernel.watcher = start_watcher(&watched.subscribers);
        drop(kernel);
        watched
    }

    /// Never asks the kernel for a watcher.
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
        let kernel = self.kernel();
        kernel.watcher.is_none() || kernel.folders.values().any(Option::is_none)
    }

    pub(crate) fn add(&self, folder: &Path, names: NameFilter, signal: Arc<Signal>) {
        let mut kernel = self.kernel();
        self.subscribers.add(folder, names, signal);
        if !kernel.folders.contains_key(folder) {
            kernel.folders.insert(folder.to_owned(), None);
        }
        kernel.watch(folder);
    }

    pub(crate) fn remove(&self, folder: &Path, signal: &Arc<Signal>) {
        let mut kernel = self.kernel();
        if self.subscribers.remove(folder, signal) {
            kernel.unwatch(folder);
            kernel.folders.remove(folder);
        }
    }

    /// Finds folders that were replaced, then wakes everybody.
    pub(crate) fn sweep(&self) {
        let mut kernel = self.kernel();
        if kernel.is_wanted && kernel.watcher.is_none() {
            kernel.watcher = start_watcher(&self.subscribers);
        }
        let renews = kernel.sweeps.is_multiple_of(SWEEPS_TO_RENEW);
        kernel.sweeps = kernel.sweeps.wrapping_add(1);
        let folders: Vec<PathBuf> = kernel.folders.keys().cloned().collect();
        for folder in folders {
            if renews || !kernel.is_in_sight(&folder) {
                kernel.watch(&folder);
            }
        }
        drop(kernel);
        self.subscribers.wake_all();
    }

    #[cfg(test)]
    pub(crate) fn hear(&self, event: &Event) {
        self.subscribers.hear(event);
    }

    fn kernel(&self) -> MutexGuard<'_, Kernel> {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stop.set();
    }
}

impl Kernel {
    /// Whether the folder that stands at this path is the one that is watched.
    fn is_in_sight(&self, folder: &Path) -> bool {
        let watched = self.folders.get(folder).copied().flatten();
        self.watcher.is_some() && watched.is_some() && watched == birth_of(folder)
    }

    /// Watches whatever folder stands at this path. Asking again for the same folder is harmless, and mends a
    /// watch that was lost unseen.
    fn watch(&mut self, folder: &Path) {
        let before = self.folders.get(folder).copied().flatten();
        let there = birth_of(folder);
        if before.is_some() && before != there {
            self.unwatch(folder);
        }
        let Some(watcher) = self.watcher.as_mut() else {
            return;
        };
        let in_sight = there.filter(|_| {
            watcher
                .watch(folder, RecursiveMode::NonRecursive)
                .inspect_err(|error| {
                    tracing::warn!(folder = %folder.display(), %error, "not watched, only swept");
                })
                .is_ok()
        });
        self.folders.insert(folder.to_owned(), in_sight);
    }

    fn unwatch(&mut self, folder: &Path) {
        if let Some(watcher) = self.watcher.as_mut()
            && let Err(error) = watcher.unwatch(folder)
        {
            // The watch of a deleted folder has ended by itself.
            tracing::trace!(folder = %folder.display(), %error, "was not watched");
        }
    }
}

fn birth_of(folder: &Path) -> Option<Birth> {
    let metadata = fs::metadata(folder).ok().filter(fs::Metadata::is_dir)?;
    Some(Birth {
        device: metadata.dev(),
        inode: metadata.ino(),
        made: metadata.created().ok(),
    })
}

fn start_watcher(subscribers: &Arc<Subscribers>) -> Option<RecommendedWatcher> {
    let subscribers = Arc::clone(subscribers);
    let handler = move |event: notify::Result<Event>| match event {
        Ok(event) => subscribers.hear(&event),
        Err(error) => {
            tracing::warn!(%error, "the watcher failed; everything is read again");
            subscribers.wake_all();
        }
    };
    match notify::recommended_watcher(handler) {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            tracing::warn!(%error, "no watcher to be had: changes are seen by the sweep only");
            None
        }
    }
}

/// Our side: who waits for what.
#[derive(Debug, Default)]
struct Subscribers {
    by_folder: Mutex<HashMap<PathBuf, Vec<Subscriber>>>,
}

#[derive(Debug)]
struct Subscriber {
    names: NameFilter,
    signal: Arc<Signal>,
}

impl Subscribers {
    fn add(&self, folder: &Path, names: NameFilter, signal: Arc<Signal>) {
        let subscriber = Subscriber { names, signal };
        self.by_folder()
            .entry(folder.to_owned())
            .or_default()
            .push(subscriber);
    }

    /// `true` if that was the folder's last.
    fn remove(&self, folder: &Path, signal: &Arc<Signal>) -> bool {
        let mut by_folder = self.by_folder();
        let Some(subscribers) = by_folder.get_mut(folder) else {
            return false;
        };
        subscribers.retain(|one| !Arc::ptr_eq(&one.signal, signal));
        let is_last = subscribers.is_empty();
        if is_last {
            by_folder.remove(folder);
        }
        is_last
    }

    /// Wakes those whom an event concerns. Opening and reading are not changes: whoever woke for them would
    /// wake itself, and all its neighbours, by looking.
    fn hear(&self, event: &Event) {
        if event.need_rescan() {
            self.wake_all();
        } else if !matches!(event.kind, EventKind::Access(_)) {
            for path in &event.paths {
                self.wake(path);
            }
        }
    }

    fn wake(&self, path: &Path) {
        let by_folder = self.by_folder();
        // The folder itself was removed, moved or changed.
        for subscriber in by_folder.get(path).into_iter().flatten() {
            subscriber.signal.raise();
        }
        let Some(name) = path.file_name() else {
            return;
        };
        for subscriber in by_folder.get(folder_of(path)).into_iter().flatten() {
            if subscriber.names.matches(name) {
                subscriber.signal.raise();
            }
        }
    }

    fn wake_all(&self) {
        for subscriber in self.by_folder().values().flatten() {
            subscriber.signal.raise();
        }
    }

    fn by_folder(&self) -> MutexGuard<'_, HashMap<PathBuf, Vec<Subscriber>>> {
        self.by_folder
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
