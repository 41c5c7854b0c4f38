//! An agent that moves into a worktree of its own, and back.

mod enter;
mod exit;
mod fixed;
mod isolator;
mod stay;

pub(crate) use fixed::fixed;
pub use isolator::WorktreeIsolator;
pub(crate) use stay::MOVING;
pub use stay::worktree_tools;
