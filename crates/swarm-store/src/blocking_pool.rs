//! Runs blocking work outside the threads of an asynchronous runtime.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;

/// Runs work on the blocking pool of the current runtime. Once begun, it runs to completion, even
/// if the returned future is dropped. Without a runtime, the work runs on the calling thread.
pub(crate) async fn on_blocking_pool<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let Ok(runtime) = Handle::try_current() else {
        return work();
    };
    let work = Arc::new(Mutex::new(Some(work)));
    let taken = Arc::clone(&work);
    let run = move || {
        let work = taken.lock().take();
        work.map(|work| work())
    };
    match runtime.spawn_blocking(run).await {
        Ok(Some(done)) => done,
        Err(failed) if failed.is_panic() => resume_unwind(failed.into_panic()),
        // The runtime is shutting down and did not start the work. A thread of the pool may wait for it,
        // and the shutdown for that thread.
        Ok(None) | Err(_) => {
            let work = work.lock().take();
            match work {
                Some(work) => work(),
                None => pending().await,
            }
        }
    }
}
