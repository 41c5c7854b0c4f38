//! The task list: exclusive claims and acyclic dependencies. Rules and plans of all kinds of the
//! store, without I/O.

mod change;
mod create;
mod fence;
mod graph;
mod letters;
mod notes;
mod plan;
mod release;
mod rules;
mod types;

pub(crate) use create::{NewTasks, new_tasks};
pub(crate) use fence::CurrentActor;
pub(crate) use graph::add_edges;
pub(crate) use letters::Letter;
pub(crate) use plan::{Plan, Planner, return_tasks};
pub(crate) use release::Returned;
pub(crate) use types::Writes;
pub use types::{Actor, StatusChange, TaskChange, TaskList, TaskUpdated, Undelivered};
