//! Directory watching: one watcher per process. Events are only hints to read the state again.

mod backend;
mod inotify;
mod limits;
mod registry;
mod subscribers;
mod watcher;

pub use limits::{InotifyUse, inotify_use};
pub use subscribers::NameFilter;
pub use watcher::{DirectoryWatcher, Subscription};
