//! Waiting for several events.

use std::future::Future;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// Creates the async runtime of a command.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?)
}

/// Runs work that is cancelled by Ctrl-C, SIGTERM or a closed terminal: the work rolls back once
/// `cancel` fires.
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
    // A signal without a handler terminates this process by default.
    let listening: Vec<_> = kinds.into_iter().flat_map(signal).map(calls_off).collect();
    let done = work.await;
    for one in listening {
        one.abort();
    }
    done
}

/// Runs work until its end or until Ctrl-C, without rollback; `standing` returns the error that
/// describes the state. Threads that wait for a lock or for a member to stop end with the process.
pub(super) fn run_until_ctrl_c<T>(
    standing: impl FnOnce() -> Failure,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        // Signals are handled from here, before the work starts.
        let mut ctrl_c = signal(SignalKind::interrupt())?;
        tokio::select! {
            biased;
            done = work => Ok(done),
            _ = ctrl_c.recv() => Err(standing()),
        }
    });
    runtime.shutdown_background();
    done
}
