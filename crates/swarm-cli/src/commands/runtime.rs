//! Waiting for several things at once.

use std::future::Future;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// A runtime for a command that waits on several things.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?)
}

/// Waits for work that Ctrl-C, SIGTERM and a terminal that closes call off in order: whoever waits for `cancel` undoes what
/// was begun.
pub(super) async fn called_off_by_signals<T>(
    cancel: CancellationToken,
    work: impl Future<Output = T>,
) -> T {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let calls_off = |mut heard: Signal| {
        let cancel = cancel.clone();
        tokio::spawn(async move {
            if heard.recv().await.is_some() {
                cancel.cancel();
            }
        })
    };
    // Where one cannot be heard it ends this process, as it does without us.
    let listening: Vec<_> = kinds.into_iter().flat_map(signal).map(calls_off).collect();
    let done = work.await;
    for one in listening {
        one.abort();
    }
    done
}

/// Does work that Ctrl-C ends at once. What it has begun by then stays so, which the failure of `standing` says.
pub(super) async fn told_on_ctrl_c<T>(
    standing: impl FnOnce() -> Failure,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    // From here on, before anything is begun.
    let mut ctrl_c = signal(SignalKind::interrupt())?;
    tokio::select! {
        biased;
        done = work => Ok(done),
        _ = ctrl_c.recv() => Err(standing()),
    }
}
