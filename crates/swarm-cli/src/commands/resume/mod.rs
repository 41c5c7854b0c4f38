//! `swarm resume`: taking over a team whose lead was lost.

mod by_hand;
mod dispatch;
mod headless;
mod report;

pub(super) use dispatch::{carry_on, run};
pub(super) use headless::ResumeArgs;
