//! `swarm shutdown` and `swarm kill`.

mod kill;
mod report;
mod shutdown;
mod waiting;
mod whom;

pub(super) use kill::{KillArgs, run as kill};
pub(super) use report::{tell_left, told};
pub(super) use shutdown::{ShutdownArgs, run as shutdown};
pub(super) use waiting::{saying_who, who_lives};
pub(super) use whom::MemberWord;
