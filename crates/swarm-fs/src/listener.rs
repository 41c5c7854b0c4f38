//! Who hears what the kernel tells: a thread of its own, or a task of the runtime that waits for it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::contained::folder_of;
use crate::inotify::{Inotify, News};
use crate::watched::Subscribers;

/// Where work goes on that nobody waits for.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// In threads, whatever the owner does meanwhile.
    Threads,
    /// In tasks. Whoever waits in the same thread is woken without another one in between.
    Runtime(Handle),
}

/// Hears of changes until it is dropped.
#[derive(Debug)]
pub(crate) enum Listener {
    Thread(RecommendedWatcher),
    Task(Arc<Inotify>, AbortHandle),
}

impl Listener {
    pub(crate) fn start(place: &Place, subscribers: &Arc<Subscribers>) -> io::Result<Self> {
        let subscribers = Arc::clone(subscribers);
        match place {
            Place::Threads => {
                let handler = move |event| pass_on(&event, &subscribers);
                let watcher = notify::recommended_watcher(handler).map_err(io::Error::other)?;
                Ok(Self::Thread(watcher))
            }
            Place::Runtime(runtime) => {
                let inotify = Arc::new(Inotify::new()?);
                let _within = runtime.enter();
                #[expect(
                    deprecated,
                    reason = "what replaces it is unsafe; the queue is open as long as its owner lives"
                )]
                let queue = AsyncFd::with_interest(Arc::clone(&inotify), Interest::READABLE)?;
                let task = runtime.spawn(hear(queue, subscribers));
                Ok(Self::Task(inotify, task.abort_handle()))
            }
        }
    }

    pub(crate) fn watch(&mut self, folder: &Path) -> io::Result<()> {
        match self {
            Self::Thread(watcher) => watcher
                .watch(folder, RecursiveMode::NonRecursive)
                .map_err(io::Error::other),
            Self::Task(inotify, _) => inotify.watch(folder),
        }
    }

    pub(crate) fn unwatch(&mut self, folder: &Path) -> io::Result<()> {
        match self {
            Self::Thread(watcher) => watcher.unwatch(folder).map_err(io::Error::other),
            Self::Task(inotify, _) => inotify.unwatch(folder),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Task(_, task) = self {
            task.abort();
        }
    }
}

/// Tells subscribers what the thread has heard. Opening and reading are not changes: whoever woke for them would wake
/// itself, and all its neighbours, by looking.
fn pass_on(event: &notify::Result<Event>, subscribers: &Subscribers) {
    match event {
        Ok(event) if event.need_rescan() => subscribers.hear(News::Lost),
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
        Ok(event) => {
            for path in &event.paths {
                // A watched folder itself, or a name in one.
                subscribers.hear(News::Folder(path));
                if let Some(name) = path.file_name() {
                    subscribers.hear(News::Name(folder_of(path), name));
                }
            }
        }
        Err(error) => {
            tracing::warn!(%error, "the watcher failed; everything is read again");
            subscribers.hear(News::Lost);
        }
    }
}

async fn hear(queue: AsyncFd<Arc<Inotify>>, subscribers: Arc<Subscribers>) {
    loop {
        let heard = match queue.readable().await {
            Ok(mut ready) => {
                // What comes after the read makes it ready once more.
                ready.clear_ready();
                queue.get_ref().read(|news| subscribers.hear(news))
            }
            Err(error) => Err(error),
        };
        if let Err(error) = heard {
            return subscribers.deaf(&error);
        }
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, AccessMode, Flag};

    use super::*;
    use crate::signal::Signal;
    use crate::watch::NameFilter;

    #[test]
    fn an_overflowing_queue_wakes_everybody_and_an_access_nobody() {
        let subscribers = Subscribers::default();
        let signal = Arc::new(Signal::default());
        let names = NameFilter::Suffix(".json");
        subscribers.add(Path::new("/folder"), names, Arc::clone(&signal));
        let wakes = |event: notify::Result<Event>| {
            pass_on(&event, &subscribers);
            signal.wait(std::time::Duration::ZERO)
        };
        let of = |kind, path: &str| Ok(Event::new(kind).add_path(path.into()));
        let opened = EventKind::Access(AccessKind::Open(AccessMode::Any));
        assert!(!wakes(of(opened, "/folder/1.json")));
        assert!(!wakes(of(EventKind::Any, "/folder/1.lock")));
        assert!(wakes(of(EventKind::Any, "/folder/1.json")));
        assert!(wakes(of(EventKind::Any, "/folder")));
        let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert!(wakes(Ok(overflow)));
        assert!(wakes(Err(notify::Error::generic("broken"))));
    }
}
