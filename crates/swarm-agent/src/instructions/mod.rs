//! Instruction files (`CLAUDE.md`, `AGENTS.md`, rules): which there are, what they say, and when an agent is told.

mod announce;
mod file;
mod layers;
mod load;
mod loaded;
mod probe;
mod reader;

pub(crate) use announce::{Instructions, News};
pub use file::{InstructionFile, InstructionKind, InstructionSources};
pub use load::{LoadedInstructions, MANAGED_INSTRUCTIONS};

#[cfg(test)]
mod tests;
