//! `swarm shutdown` and `swarm kill`.

mod kill;
mod report;
mod shutdown;
mod whom;

pub(super) use kill::run as kill;
pub(super) use report::tell_left;
pub(super) use shutdown::run as shutdown;
