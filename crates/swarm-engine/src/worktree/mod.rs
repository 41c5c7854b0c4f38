//! An agent that moves into a worktree of its own, and back.

mod enter;
mod exit;
mod stay;

pub use stay::worktree_tools;
