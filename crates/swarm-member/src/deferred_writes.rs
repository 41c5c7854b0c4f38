//! Writes to a team's files that run concurrently with the model request.

use std::collections::VecDeque;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use swarm_protocol::partial_debug;
use swarm_store::StoreError;

type Outcome = Result<(), StoreError>;
type Write = dyn FnOnce() -> Outcome + Send;

/// Writes on which nothing depends until the member next reads its team's files. A thread runs them
/// in order and exits after the last one.
#[derive(Debug, Default)]
pub(crate) struct DeferredWrites(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    all_done: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Box<Write>>,
    /// Whether a thread is running the writes.
    claimed: bool,
    /// The first error.
    failure: Option<StoreError>,
}

impl DeferredWrites {
    /// Adds a write. It runs after the earlier ones, once [`Self::begin`] or [`Self::finish`] is
    /// called.
    pub(crate) fn add(&self, write: impl FnOnce() -> Outcome + Send + 'static) {
        self.0.queue.lock().waiting.push_back(Box::new(write));
    }

    /// Starts the writes in the background.
    pub(crate) fn begin(&self) {
        if !self.0.claim() {
            return;
        }
        let shared = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("writes team files".to_owned());
        if let Err(error) = thread.spawn(move || shared.drain()) {
            tracing::debug!(%error, "cannot start a thread for deferred writes; writing on the caller's thread");
            self.0.drain();
        }
    }

    /// Waits for all writes without blocking the caller's thread.
    ///
    /// # Errors
    /// The first error of a write since the last call.
    pub(crate) async fn finished(&self) -> Outcome {
        if let Some(outcome) = self.0.outcome_if_idle() {
            return outcome;
        }
        let writes = Self(Arc::clone(&self.0));
        let finished = tokio::task::spawn_blocking(move || writes.finish());
        // A panic of a write is caught in its thread; a runtime that shuts down drops its waiting
        // tasks.
        finished.await.unwrap_or(Ok(()))
    }

    /// Returns once all writes are done. The caller runs those that were not started.
    ///
    /// # Errors
    /// The first error of a write since the last call.
    fn finish(&self) -> Outcome {
        if self.0.claim() {
            self.0.drain();
        }
        let mut queue = self.0.queue.lock();
        self.0
            .all_done
            .wait_while(&mut queue, |queue| queue.claimed);
        queue.failure.take().map_or(Ok(()), Err)
    }
}

impl Shared {
    /// Claims pending writes that no thread is running. A caller that gets `true` has to drain the
    /// queue.
    fn claim(&self) -> bool {
        let mut queue = self.queue.lock();
        !queue.waiting.is_empty() && !mem::replace(&mut queue.claimed, true)
    }

    /// Returns the result of the writes, if none is pending or running.
    fn outcome_if_idle(&self) -> Option<Outcome> {
        let mut queue = self.queue.lock();
        let is_idle = queue.waiting.is_empty() && !queue.claimed;
        is_idle.then(|| queue.failure.take().map_or(Ok(()), Err))
    }

    fn drain(&self) {
        while let Some(write) = self.next() {
            let done = catch_unwind(AssertUnwindSafe(write)).unwrap_or_else(|_| {
                // A missing write is detected at the next read.
                tracing::error!("a deferred write panicked");
                Ok(())
            });
            if let Err(error) = done {
                self.queue.lock().failure.get_or_insert(error);
            }
        }
    }

    fn next(&self) -> Option<Box<Write>> {
        let mut queue = self.queue.lock();
        let next = queue.waiting.pop_front();
        if next.is_none() {
            queue.claimed = false;
            self.all_done.notify_all();
        }
        next
    }
}

partial_debug!(Queue: claimed);

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use swarm_protocol::MemberName;

    use super::*;

    fn refused() -> Outcome {
        Err(StoreError::ReadByProgram(MemberName::parse("bob").unwrap()))
    }

    #[test]
    fn writes_are_done_in_order_and_only_waited_for_when_asked() {
        let writes = DeferredWrites::default();
        let (open, gate) = channel::<()>();
        let written = Arc::new(Mutex::new(Vec::new()));
        let first = Arc::clone(&written);
        writes.add(move || {
            gate.recv().unwrap();
            first.lock().push("first");
            Ok(())
        });
        writes.begin();
        let second = Arc::clone(&written);
        writes.add(move || {
            second.lock().push("second");
            Ok(())
        });
        writes.begin();
        assert!(written.lock().is_empty(), "begun, not waited for");
        open.send(()).unwrap();
        writes.finish().unwrap();
        assert_eq!(*written.lock(), ["first", "second"]);
    }

    #[tokio::test]
    async fn waiting_for_writes_leaves_the_thread_to_others() {
        let writes = DeferredWrites::default();
        let (open, gate) = channel::<()>();
        writes.add(move || {
            gate.recv().unwrap();
            refused()
        });
        writes.begin();
        // On one thread: this would never end if the first future blocked it.
        let opens = async { open.send(()).unwrap() };
        let (finished, ()) = tokio::join!(writes.finished(), opens);
        finished.unwrap_err();
        writes.finished().await.unwrap();
    }

    #[test]
    fn writes_that_were_not_started_run_on_the_waiting_thread() {
        let writes = DeferredWrites::default();
        let written = Arc::new(Mutex::new(Vec::new()));
        for number in 0..3 {
            let written = Arc::clone(&written);
            writes.add(move || {
                let here = std::thread::current().id();
                written.lock().push((number, here));
                Ok(())
            });
        }
        assert!(written.lock().is_empty(), "added, not begun");
        writes.finish().unwrap();
        let here = std::thread::current().id();
        assert_eq!(*written.lock(), [(0, here), (1, here), (2, here)]);
    }

    #[test]
    fn a_failure_is_returned_once_and_later_writes_still_run() {
        let writes = DeferredWrites::default();
        let written = Arc::new(Mutex::new(0));
        writes.add(refused);
        let later = Arc::clone(&written);
        writes.add(move || {
            *later.lock() += 1;
            Ok(())
        });
        writes.begin();
        writes.finish().unwrap_err();
        assert_eq!(*written.lock(), 1);
        writes.finish().unwrap();
    }

    #[test]
    fn a_panicking_write_does_not_block_later_ones() {
        let writes = DeferredWrites::default();
        writes.add(|| panic!("on purpose"));
        writes.begin();
        writes.finish().unwrap();
        writes.add(refused);
        writes.finish().unwrap_err();
    }
}
