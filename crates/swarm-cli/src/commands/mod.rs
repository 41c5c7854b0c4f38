//! The commands.

mod demo;
mod dispatch;
mod run;
mod run_events;
mod spawn;
mod team;

pub(crate) use dispatch::run;

use crate::failure::Failure;

/// A runtime for a command that waits on several things.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?)
}
