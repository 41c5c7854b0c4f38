//! Who hears what the kernel tells: a thread of its own, or a task of the runtime that waits for it.

use std::io::{self, PipeReader, PipeWriter};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::inotify::Inotify;
use super::subscribers::Subscribers;
use crate::contained::retrying;

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
pub(crate) struct Listener {
    inotify: Arc<Inotify>,
    reader: Reader,
}

#[derive(Debug)]
enum Reader {
    /// The thread ends once nobody has the other end of its pipe.
    Thread(Option<(PipeWriter, JoinHandle<()>)>),
    Task(AbortHandle),
}

impl Listener {
    pub(crate) fn start(place: &Place, subscribers: &Arc<Subscribers>) -> io::Result<Self> {
        let subscribers = Arc::clone(subscribers);
        let inotify = Arc::new(Inotify::new()?);
        let reader = match place {
            Place::Threads => {
                let (stopped, stop) = io::pipe()?;
                let queue = Arc::clone(&inotify);
                let thread = thread::Builder::new()
                    .name("file changes".to_owned())
                    .spawn(move || hear_in_thread(&queue, &stopped, &subscribers))?;
                Reader::Thread(Some((stop, thread)))
            }
            Place::Runtime(runtime) => {
                let _within = runtime.enter();
                #[expect(
                    deprecated,
                    reason = "what replaces it is unsafe; the queue is open as long as its owner lives"
                )]
                let queue = AsyncFd::with_interest(Arc::clone(&inotify), Interest::READABLE)?;
                Reader::Task(runtime.spawn(hear(queue, subscribers)).abort_handle())
            }
        };
        Ok(Self { inotify, reader })
    }

    pub(crate) fn watch(&self, directory: &Path) -> io::Result<()> {
        self.inotify.watch(directory)
    }

    pub(crate) fn unwatch(&self, directory: &Path) -> io::Result<()> {
        self.inotify.unwatch(directory)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        match &mut self.reader {
            Reader::Task(task) => task.abort(),
            Reader::Thread(thread) => {
                if let Some((stop, thread)) = thread.take() {
                    drop(stop);
                    if thread.join().is_err() {
                        tracing::warn!("the thread that heard of changes panicked");
                    }
                }
            }
        }
    }
}

fn hear_in_thread(inotify: &Inotify, stopped: &PipeReader, subscribers: &Subscribers) {
    let heard = loop {
        let mut either = [
            PollFd::new(inotify, PollFlags::IN),
            PollFd::new(stopped, PollFlags::IN),
        ];
        if let Err(error) = retrying(|| poll(&mut either, None)) {
            break io::Error::from(error);
        }
        if !either[1].revents().is_empty() {
            return;
        }
        if let Err(error) = inotify.read(|news| subscribers.hear(news)) {
            break error;
        }
    };
    subscribers.lose_events(&heard);
}

async fn hear(queue: AsyncFd<Arc<Inotify>>, subscribers: Arc<Subscribers>) {
    loop {
        let heard = match queue.readable().await {
            Ok(mut ready) => {
                let read = queue.get_ref().read(|news| subscribers.hear(news));
                // An event that has come since the read makes it ready once more.
                if let Ok(true) = read {
                    ready.clear_ready();
                }
                read
            }
            Err(error) => Err(error),
        };
        if let Err(error) = heard {
            return subscribers.lose_events(&error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_of_a_listener_ends_with_it() {
        let subscribers = Arc::default();
        let listener = Listener::start(&Place::Threads, &subscribers).unwrap();
        let queue = Arc::downgrade(&listener.inotify);
        assert_eq!(Arc::strong_count(&subscribers), 2);
        drop(listener);
        assert_eq!(Arc::strong_count(&subscribers), 1);
        assert_eq!(queue.strong_count(), 0);
    }
}
