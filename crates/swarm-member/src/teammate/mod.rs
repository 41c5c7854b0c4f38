//! The teammate: inbox → turns → idle notice → shutdown.

mod assemble;
mod chores;
mod debrief;
mod desk;
mod duty;
mod error;
mod hold;
mod hooks;
mod idle;
mod interject;
mod lead_duty;
mod lead_watch;
mod life;
mod member;
mod outbox;
mod parts;
mod person;
mod prompt;
mod servers;
mod start;
mod termination;
mod turn;

#[cfg(test)]
mod tests;

pub(crate) use desk::MailDesk;
pub use error::TeammateError;
pub use member::{Ending, run};
pub use parts::{ProcessFacts, TeammateParts};
pub use termination::Termination;
