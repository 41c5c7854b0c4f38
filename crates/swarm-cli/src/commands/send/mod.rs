//! `swarm send`.

mod message;
mod wait;

pub(super) use message::run;
