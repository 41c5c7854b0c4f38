//! Waiting for several events.

use std::future::Future;
use std::io;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::{Failure, Result};

pub(crate) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?)
}

/// Returns a runtime on the calling thread, for work that mostly waits for one event at a time: it
/// starts without threads, and no thread has to wake another.
pub(super) fn own_thread_runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// The signals that end a process: Ctrl-C, SIGTERM, and the end of its terminal.
pub(crate) struct EndSignals {
    pub(crate) interrupt: Signal,
    pub(crate) terminate: Signal,
    pub(crate) hangup: Signal,
}

impl EndSignals {
    /// Handles the signals from now on. Must be called within a runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for any of them.
    pub(super) async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// Runs work that is cancelled by Ctrl-C, SIGTERM or a closed terminal: the work rolls back once
/// `cancel` fires.
pub(super) async fn called_off_by_signals<T>(
    cancel: CancellationToken,
    work: impl Future<Output = T>,
) -> T {
    // A signal without a handler terminates this process by default.
    let listening = EndSignals::listen().map(|mut signals| {
        tokio::spawn(async move {
            signals.any().await;
            cancel.cancel();
        })
    });
    let done = work.await;
    if let Ok(listening) = listening {
        listening.abort();
    }
    done
}

/// Runs work with [`called_off_by_signals`]. Store calls that wait for a lock end with the process.
pub(super) fn run_cancellable<T>(
    runtime: Runtime,
    cancel: CancellationToken,
    work: impl Future<Output = T>,
) -> T {
    let done = runtime.block_on(called_off_by_signals(cancel, Box::pin(work)));
    runtime.shutdown_background();
    done
}

/// Runs work until its end or until Ctrl-C, without rollback; `standing` returns the error that
/// describes the state. Threads that wait for a lock or for a member to stop end with the process.
pub(super) fn run_until_ctrl_c<T>(
    standing: impl FnOnce() -> Failure,
    work: impl Future<Output = T>,
) -> Result<T> {
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
