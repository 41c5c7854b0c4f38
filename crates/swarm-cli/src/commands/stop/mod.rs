//! `swarm shutdown` and `swarm kill`.

mod kill;
mod lead;
mod lock_waits;
mod report;
mod shutdown;
mod targets;
mod waiting;

pub(super) use kill::{KillArgs, run as kill};
pub(super) use report::tell_left;
pub(super) use shutdown::{ShutdownArgs, run as shutdown};
pub(super) use targets::{MemberWord, StopTargets};
pub(super) use waiting::{saying_who, who_lives};
