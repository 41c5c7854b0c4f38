//! The kernel's sandbox around shell commands: they write in the agent's own directory and in few others. Reading and the
//! network are as ever.
//!
//! A process can only take rights from itself, for good, and only it can begin a session. So a command is started through a
//! helper, normally our own program, which does both and then becomes the command.

mod entry;
mod plan;
mod restrict;

pub use entry::{HELPER_WORD, SandboxError, become_command};
pub(crate) use plan::{Plan, plan};
pub use restrict::{SandboxLevel, sandbox_level};
