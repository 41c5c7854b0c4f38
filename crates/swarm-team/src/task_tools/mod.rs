//! `TaskCreate`, `TaskGet`, `TaskList` and `TaskUpdate`, in the shape that models trained for
//! Claude Code expect.

mod checks;
mod create;
mod get;
mod list;
mod pool;
mod update;

pub use pool::task_tools;
