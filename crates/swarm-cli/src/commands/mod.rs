//! The commands.

mod acting;
mod demo;
mod dispatch;
mod given;
mod inbox;
mod journal;
mod members;
mod pane;
mod requests;
mod run;
mod run_events;
mod send;
mod sgr;
mod spawn;
mod status;
mod stop;
mod task;
mod team;
mod watch;

pub(crate) use dispatch::run;

use crate::failure::Failure;

/// A runtime for a command that waits on several things.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?)
}
