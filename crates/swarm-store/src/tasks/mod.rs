//! The task list: Claude Code's files, with exclusive claims and acyclic dependencies.

mod change;
mod create;
mod fence;
mod file_tasks;
mod files;
mod graph;
mod mark;
mod notes;
mod redo;
mod release;
mod rules;
mod types;

pub(crate) use release::Returned;
pub use types::{Actor, StatusChange, TaskChange, TaskList, TaskUpdated};
