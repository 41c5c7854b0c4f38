//! The thread of a lead.

use std::future::Future;
use std::io;
use std::panic::resume_unwind;

use tokio::runtime::Builder;

/// Runs work and the tasks that it starts on one thread. Each chunk of a response passes between two
/// tasks; on several threads each chunk would wake another thread.
///
/// # Errors
/// If the thread's event loop cannot be created.
pub(super) async fn on_own_thread<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> io::Result<T> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let thread = tokio::task::spawn_blocking(move || {
        let done = runtime.block_on(work);
        // Threads that wait for a member to stop end with the process.
        runtime.shutdown_background();
        done
    });
    match thread.await {
        Ok(done) => Ok(done),
        Err(failed) => resume_unwind(failed.into_panic()),
    }
}
