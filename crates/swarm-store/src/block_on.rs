//! Waiting for a store operation on the calling thread.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tokio::task::coop::unconstrained;

/// Waits for store operations without a runtime, for synchronous callers.
///
/// In a process with an asynchronous runtime it must not be used for operations that take a lock,
/// because other programs may hold the lock while this thread waits.
pub trait BlockOn: Future + Sized {
    /// Waits for this future on the calling thread. Futures that use a timer or a socket need a
    /// runtime.
    fn block_on(self) -> Self::Output {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        // A future that has to yield is woken by the runtime's scheduler, which this thread may be.
        let mut future = pin!(unconstrained(self));
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(output) => return output,
                Poll::Pending => thread::park(),
            }
        }
    }
}

impl<F: Future> BlockOn for F {}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
