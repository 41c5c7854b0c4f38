//! Subscribers of directories, with name filters.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use super::inotify::FileEvent;

/// Selects the names in a directory that wake a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameFilter {
    /// Exactly these names.
    Exact(Vec<OsString>),
    /// Names with this suffix: `.json` matches `7.json` but not `7.json.lock`.
    Suffix(&'static str),
    /// Every name.
    Any,
}

impl NameFilter {
    pub(crate) fn matches(&self, name: &OsStr) -> bool {
        match self {
            Self::Exact(names) => names.iter().any(|wanted| wanted == name),
            Self::Suffix(suffix) => name.as_encoded_bytes().ends_with(suffix.as_bytes()),
            Self::Any => true,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    by_directory: Mutex<HashMap<PathBuf, Vec<Subscriber>>>,
    /// Whether events are no longer read.
    has_lost_events: AtomicBool,
}

#[derive(Debug)]
struct Subscriber {
    names: NameFilter,
    signal: Arc<Signal>,
}

impl Subscribers {
    pub(crate) fn add(&self, directory: &Path, names: NameFilter, signal: Arc<Signal>) {
        let subscriber = Subscriber { names, signal };
        self.by_directory
            .lock()
            .entry(directory.to_owned())
            .or_default()
            .push(subscriber);
    }

    /// Removes a subscriber. Returns `true` if it was the last one of the directory.
    pub(crate) fn remove(&self, directory: &Path, signal: &Arc<Signal>) -> bool {
        let mut by_directory = self.by_directory.lock();
        let Some(subscribers) = by_directory.get_mut(directory) else {
            return false;
        };
        subscribers.retain(|one| !Arc::ptr_eq(&one.signal, signal));
        let is_last = subscribers.is_empty();
        if is_last {
            by_directory.remove(directory);
        }
        is_last
    }

    /// Wakes the subscribers that an event concerns.
    pub(crate) fn dispatch(&self, event: FileEvent<'_>) {
        match event {
            FileEvent::Name(directory, name) => self.wake(directory, |names| names.matches(name)),
            FileEvent::Directory(directory) => self.wake(directory, |_| true),
            FileEvent::Lost => self.wake_all(),
        }
    }

    /// Records that no events are read until the next sweep, and wakes all subscribers.
    pub(crate) fn lose_events(&self, error: &io::Error) {
        tracing::warn!(%error, "reading file events failed; all state is read again");
        self.has_lost_events.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    /// Returns whether events were lost, and resets the flag.
    pub(crate) fn has_lost_events(&self) -> bool {
        self.has_lost_events.swap(false, Ordering::SeqCst)
    }

    fn wake(&self, directory: &Path, concerns: impl Fn(&NameFilter) -> bool) {
        let by_directory = self.by_directory.lock();
        for subscriber in by_directory.get(directory).into_iter().flatten() {
            if concerns(&subscriber.names) {
                subscriber.signal.raise();
            }
        }
    }

    pub(crate) fn wake_all(&self) {
        for subscriber in self.by_directory.lock().values().flatten() {
            subscriber.signal.raise();
        }
    }
}

/// A flag that may be raised several times and is reset by its single waiter, a task or a thread.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    is_raised: Mutex<bool>,
    for_thread: Condvar,
    for_task: Notify,
}

impl Signal {
    pub(crate) fn raise(&self) {
        *self.is_raised.lock() = true;
        self.for_thread.notify_one();
        self.for_task.notify_one();
    }

    /// Waits until the flag is raised and resets it.
    pub(crate) async fn raised(&self) {
        while !std::mem::take(&mut *self.is_raised.lock()) {
            // If the flag was raised before this line, `notified` returns immediately.
            self.for_task.notified().await;
        }
    }

    /// Waits until the flag is raised and resets it. Returns `false` on timeout.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let mut state = self.is_raised.lock();
        self.for_thread
            .wait_while_for(&mut state, |is_raised| !*is_raised, timeout);
        std::mem::take(&mut *state)
    }
}
