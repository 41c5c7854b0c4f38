//! Runs blocking work outside the threads of an asynchronous runtime.

use std::future::pending;
use std::panic::resume_unwind;

use tokio::runtime::Handle;

/// Runs work on the blocking pool of the current runtime. Once begun, it runs to completion, even
/// if the returned future is dropped. Without a runtime, the work runs on the calling thread.
pub(crate) async fn on_blocking_pool<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let Ok(runtime) = Handle::try_current() else {
        return work();
    };
    match runtime.spawn_blocking(work).await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down and drops its waiting tasks.
            Err(_cancelled) => pending().await,
        },
    }
}
