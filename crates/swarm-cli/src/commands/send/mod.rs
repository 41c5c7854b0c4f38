//! `swarm send`.

mod message;
mod receiver;
mod report;
mod session;
mod wait;

pub(super) use message::{SendArgs, run};
