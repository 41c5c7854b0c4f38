//! Watching directories: one watcher per process, hints only.

mod backend;
mod inotify;
mod limits;
mod registry;
mod signal;
mod subscribers;
mod watcher;

pub use limits::{InotifyUse, inotify_use};
pub use subscribers::NameFilter;
pub use watcher::{DirectoryWatcher, Subscription};
