//! Reads inotify events in a thread or in a task of the runtime.

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

/// Where background work runs.
#[derive(Debug, Clone)]
pub(crate) enum Executor {
    /// In separate threads.
    Threads,
    /// In tasks of the runtime: waiters on its thread are woken without a switch between threads.
    Runtime(Handle),
}

/// Reads events until it is dropped.
#[derive(Debug)]
pub(crate) struct Listener {
    inotify: Arc<Inotify>,
    reader: Reader,
}

#[derive(Debug)]
enum Reader {
    /// The thread exits when the other end of its pipe is closed.
    Thread(Option<(PipeWriter, JoinHandle<()>)>),
    Task(AbortHandle),
}

impl Listener {
    pub(crate) fn start(executor: &Executor, subscribers: &Arc<Subscribers>) -> io::Result<Self> {
        let subscribers = Arc::clone(subscribers);
        let inotify = Arc::new(Inotify::new()?);
        let reader = match executor {
            Executor::Threads => {
                let (stopped, stop) = io::pipe()?;
                let queue = Arc::clone(&inotify);
                let thread = thread::Builder::new()
                    .name("file changes".to_owned())
                    .spawn(move || read_in_thread(&queue, &stopped, &subscribers))?;
                Reader::Thread(Some((stop, thread)))
            }
            Executor::Runtime(runtime) => {
                let _within = runtime.enter();
                #[expect(
                    deprecated,
                    reason = "the replacement is unsafe; the queue stays open while its owner exists"
                )]
                let queue = AsyncFd::with_interest(Arc::clone(&inotify), Interest::READABLE)?;
                Reader::Task(
                    runtime
                        .spawn(read_in_task(queue, subscribers))
                        .abort_handle(),
                )
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
                        tracing::warn!("the thread that reads file events panicked");
                    }
                }
            }
        }
    }
}

fn read_in_thread(inotify: &Inotify, stopped: &PipeReader, subscribers: &Subscribers) {
    let result = loop {
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
        if let Err(error) = inotify.read(|event| subscribers.dispatch(event)) {
            break error;
        }
    };
    subscribers.lose_events(&result);
}

async fn read_in_task(queue: AsyncFd<Arc<Inotify>>, subscribers: Arc<Subscribers>) {
    loop {
        let result = match queue.readable().await {
            Ok(mut ready) => {
                let read = queue.get_ref().read(|event| subscribers.dispatch(event));
                // An event that arrived after the read makes it ready again.
                if let Ok(true) = read {
                    ready.clear_ready();
                }
                read
            }
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            return subscribers.lose_events(&error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_a_listener_stops_its_thread() {
        let subscribers = Arc::default();
        let listener = Listener::start(&Executor::Threads, &subscribers).unwrap();
        let queue = Arc::downgrade(&listener.inotify);
        assert_eq!(Arc::strong_count(&subscribers), 2);
        drop(listener);
        assert_eq!(Arc::strong_count(&subscribers), 1);
        assert_eq!(queue.strong_count(), 0);
    }
}
