//! A lead that is ended at any moment of its work, and what whoever takes its team over finds: members and panes by their locks
//! and tags, questions that can be answered, worktrees that are whole or can be removed, and nothing that is nobody's.

mod blow;
mod duty;
mod trees;
mod trial;

pub use blow::Blow;
pub use duty::Duty;
pub use trial::takeover;
