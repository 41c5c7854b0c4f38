//! The task list: Claude Code's files, with claims that cannot be made twice and edges that cannot close a circle.

mod types;

pub use types::{Actor, StatusChange, TaskChange, TaskList, TaskUpdated};
