//! Worktree tools, and isolated worktrees for sub-agents.

mod enter;
mod exit;
mod fixed;
mod isolator;
mod stay;
mod tools;

pub(crate) use fixed::fork_tools;
pub use isolator::WorktreeIsolator;
pub(crate) use tools::MOVE_TOOLS;
pub use tools::worktree_tools;
