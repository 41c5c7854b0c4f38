//! The child program: inbox → turns → idle notice → shutdown.

mod assemble;
mod desk;
mod error;
mod gate;
mod idle;
mod interject;
mod member;
mod parts;
mod prompt;
mod reporter;
mod start;
mod turn;

#[cfg(test)]
mod tests;

pub use error::TeammateError;
pub use member::{Ending, run};
pub use parts::{ProcessFacts, TeammateParts};
