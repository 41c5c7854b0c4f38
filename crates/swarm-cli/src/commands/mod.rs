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
mod runtime;
mod send;
mod sgr;
mod spawn;
mod status;
mod stop;
mod task;
mod team;
mod watch;

pub(crate) use dispatch::run;

use runtime::runtime;
