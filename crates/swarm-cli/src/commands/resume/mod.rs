//! `swarm resume`: takes over a team that lost its lead.

mod by_hand;
mod dispatch;
mod headless;
mod report;

pub(super) use dispatch::{carry_on, run};
pub(super) use headless::ResumeArgs;
