//! The loop of a member: mail, turns, permission, shutdown, for the lead and for teammates.

mod lead;
mod teammate;

pub use lead::{LeadParts, MemberLine, Outcome, RunReport, TaskLine, run_headless};
pub use teammate::{Ending, ProcessFacts, TeammateError, TeammateParts, Termination, run};
