//! `swarm ps` and `swarm reap`: list swarm's processes and terminate orphaned ones.

mod ps;
mod reap;
mod text;

pub(super) use ps::run as ps;
pub(super) use reap::{ReapArgs, run as reap};
