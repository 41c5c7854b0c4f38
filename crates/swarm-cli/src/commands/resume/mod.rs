//! `swarm resume`: taking over a team whose lead was lost.

mod by_hand;
mod dispatch;
mod headless;
mod report;

pub(super) use dispatch::run;
pub(super) use headless::ResumeArgs;
