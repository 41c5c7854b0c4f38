//! Instruction files (`CLAUDE.md`, `AGENTS.md`, rules): search, content, and announcements to
//! agents.

mod announce;
mod file;
mod layers;
mod load;
mod reader;

pub(crate) use announce::{Instructions, News};
pub use file::{InstructionFile, InstructionKind, InstructionSources};
pub use load::MANAGED_INSTRUCTIONS;
pub use reader::LoadedInstructions;

#[cfg(test)]
mod tests;
