//! An agent that moves into a worktree of its own, and back.

mod enter;
mod exit;
mod isolator;
mod stay;

pub use isolator::WorktreeIsolator;
pub use stay::worktree_tools;

/// Names of the tools that move the agent of a process. They are its alone: a sub-agent that used them would move it too.
pub(crate) const MOVING: [&str; 2] = ["EnterWorktree", "ExitWorktree"];
