//! Who waits for changes in which directory, and for which names.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::inotify::News;
use super::signal::Signal;

/// Which names in a directory a subscription is woken by. Anything else that happens there costs it nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameFilter {
    /// These names alone.
    Exact(Vec<OsString>),
    /// Names that end so: `.json` matches `7.json` but not `7.json.lock`.
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

/// Our side: who waits for what.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    by_directory: Mutex<HashMap<PathBuf, Vec<Subscriber>>>,
    /// Nobody reads the kernel's events any more.
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

    /// `true` if that was the directory's last.
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

    /// Wakes those whom it concerns.
    pub(crate) fn hear(&self, news: News<'_>) {
        match news {
            News::Name(directory, name) => self.wake(directory, |names| names.matches(name)),
            News::Directory(directory) => self.wake(directory, |_| true),
            News::Lost => self.wake_all(),
        }
    }

    /// Notes that nothing more will be heard until the next sweep.
    pub(crate) fn lose_events(&self, error: &io::Error) {
        tracing::warn!(%error, "changes are no longer heard of; everything is read again");
        self.has_lost_events.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    /// Whether that is so; asked once.
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
