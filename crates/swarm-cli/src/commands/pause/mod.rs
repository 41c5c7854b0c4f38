//! `swarm pause` and `swarm continue`.

mod go_on;
mod raise;
mod set;
mod subject;

pub(super) use go_on::{ContinueArgs, run as go_on};
pub(super) use set::{PauseArgs, run as pause};
