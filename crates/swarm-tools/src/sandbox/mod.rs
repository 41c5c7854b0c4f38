//! Kernel sandbox for shell commands: they can write only in the agent's directory and a few
//! others. Reading and network access are not restricted.
//!
//! A process can only restrict itself, permanently, and only it can start its own session. So a
//! command is started through a helper, normally the swarm program, which does both and then
//! executes the command.

mod entry;
mod error;
mod plan;
mod restrict;
mod words;

pub use entry::become_command;
pub use error::SandboxError;
pub(crate) use plan::{Plan, plan};
pub use restrict::{SandboxLevel, sandbox_level};
pub use words::HELPER_WORD;
