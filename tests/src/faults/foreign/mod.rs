//! Foreign data, damaged on purpose: every parser is given what nobody would write.

mod checks;
mod mutate;
mod seeds;
mod transcript;
mod trying;

pub use checks::TARGETS;
pub use trying::{Effort, try_all};
