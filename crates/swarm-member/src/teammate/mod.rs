//! The teammate: a member that reports to a lead.

mod assemble;
mod error;
mod lead_watch;
mod lost_lease;
mod mail;
mod parts;
mod role;
mod run;
mod suspension;
mod task_follow_up;
mod turn_end;
mod turn_reporter;

#[cfg(test)]
mod tests;

pub use error::{Ending, TeammateError};
pub use parts::{ProcessFacts, TeammatePane, TeammateParts, Termination};
pub use run::run;
