//! The member loop: mail, turns, permission and shutdown, for the lead and for teammates.

mod broker;
mod lead;
mod mail;
mod pane_sink;
mod reporter;
mod teammate;
mod turn_mail;

pub use lead::{LeadParts, MemberLine, Outcome, RunReport, TaskLine, run_headless};
pub use pane_sink::PaneSink;
pub use teammate::{Ending, ProcessFacts, TeammateError, TeammateParts, Termination, run};
