//! The Tool trait and the built-in tools Read, Write, Edit, Glob, Grep and Bash, with the names, parameters and
//! meaning that models trained for Claude Code expect.

mod bash;
mod blocking;
mod context;
mod edit;
mod files;
mod input;
mod line_ends;
mod one_line;
pub mod processes;
mod read;
mod search;
mod tool;
mod write;

pub use bash::Bash;
pub use context::{Caller, ToolContext, ToolLimits};
pub use edit::Edit;
pub use files::{Confinement, FileState, ProtectedPaths};
pub use one_line::one_line;
pub use read::Read;
pub use search::{Glob, Grep};
pub use tool::{Tool, ToolOutput, Workplace, builtin};
pub use write::Write;
