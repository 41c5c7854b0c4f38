//! A lead is terminated at any moment of its work, and another process takes over its team: members
//! and panes with their locks and tags, pending requests, worktrees that are complete or removable,
//! and nothing without an owner.

mod blow;
mod duty;
mod trees;
mod trial;

pub use blow::Termination;
pub use duty::Activity;
pub use trial::takeover;
