//! The lead: runs a prompt or an interactive session with a team.

mod assemble;
mod collisions;
mod end_deadline;
mod listen;
mod mail;
mod merges;
mod open_questions;
mod parts;
mod report;
mod result_text;
mod role;
mod run;
mod run_end;
mod settle;
mod supervise;
mod team_tools;
mod work;

#[cfg(test)]
mod departure_tests;
#[cfg(test)]
mod mail_tests;
#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod report_tests;
#[cfg(test)]
mod settle_tests;
#[cfg(test)]
mod tests;

pub use parts::{Beginning, LeadParts, PeerPlace, StopTokens};
pub use report::{MemberLine, Outcome, RunReport, TaskLine};
pub use run::run_lead;
