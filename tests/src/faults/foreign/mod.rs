//! Mutated foreign data as input of every parser.

mod checks;
mod mutate;
mod seeds;
mod transcript;
mod trying;

pub use checks::TARGETS;
pub use trying::{Effort, try_all};
