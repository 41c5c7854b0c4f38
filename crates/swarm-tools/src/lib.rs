//! The Tool trait and the built-in tools Read, Write, Edit, Glob, Grep and Bash, with the names, parameters and
//! meaning that models trained for Claude Code expect.

mod context;
mod file_state;
mod protected;
mod tool;

pub use context::{Caller, ToolContext, ToolLimits};
pub use file_state::FileState;
pub use protected::ProtectedPaths;
pub use tool::{Tool, ToolOutput, builtin};
