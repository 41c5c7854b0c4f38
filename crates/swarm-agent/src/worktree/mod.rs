//! Worktree tools, and isolated worktrees for sub-agents.

mod enter;
mod exit;
mod fixed;
mod isolator;
mod stay;

pub use fixed::worktree_tools;
pub(crate) use fixed::{MOVE_TOOLS, fork_tools};
pub(crate) use isolator::IsolatedDirectory;
pub use isolator::WorktreeIsolator;
