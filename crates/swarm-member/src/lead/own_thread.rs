//! The thread of a lead.

use std::future::Future;
use std::panic::resume_unwind;

use tokio::runtime::Builder;

/// Runs work and the tasks that it starts on one thread. The HTTP client passes an answer piece by
/// piece between two tasks, and with several threads each piece would wake another one.
pub(super) async fn on_own_thread<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::warn!(%error, "the lead has no thread of its own");
            return work.await;
        }
    };
    let thread = tokio::task::spawn_blocking(move || {
        let done = runtime.block_on(work);
        // Threads that wait for a member to stop end with the process.
        runtime.shutdown_background();
        done
    });
    match thread.await {
        Ok(done) => done,
        Err(failed) => resume_unwind(failed.into_panic()),
    }
}
