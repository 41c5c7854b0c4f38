//! Waiting for several things at once.

use std::future::Future;

use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// A runtime for a command that waits on several things.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?)
}

/// Waits for work that Ctrl-C calls off in order: whoever waits for `cancel` undoes what was begun.
pub(super) async fn called_off_by_ctrl_c<T>(
    cancel: CancellationToken,
    work: impl Future<Output = T>,
) -> T {
    let interrupted = tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            cancel.cancel();
        }
    });
    let done = work.await;
    interrupted.abort();
    done
}
