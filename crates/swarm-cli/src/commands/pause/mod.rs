//! `swarm pause` and `swarm continue`.

mod go_on;
mod look;
mod set;

pub(super) use go_on::{ContinueArgs, run as go_on};
pub(super) use set::{PauseArgs, run as pause};
