//! An agent that moves into a worktree of its own, and back.

mod enter;
mod exit;
mod isolator;
mod stay;

pub use isolator::WorktreeIsolator;
pub(crate) use stay::MOVING;
pub use stay::worktree_tools;
