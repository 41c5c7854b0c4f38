//! `swarm ps` and `swarm reap`: the processes of swarm, and ending those that belong nowhere.

mod ps;
mod reap;
mod text;

pub(super) use ps::run as ps;
pub(super) use reap::{ReapArgs, run as reap};
