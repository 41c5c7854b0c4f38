//! The member loop: mail, turns, permission and shutdown, for the lead and for teammates.

mod broker;
mod deferred_writes;
mod lead;
mod mail;
mod member_loop;
mod pane_sink;
mod person;
mod reporter;
mod role;
mod teammate;
mod turn;
mod turn_mail;

pub use lead::{LeadParts, MemberLine, Outcome, RunReport, TaskLine, run_headless};
pub use pane_sink::PaneSink;
pub use teammate::{Ending, ProcessFacts, TeammateError, TeammateParts, Termination, run};
