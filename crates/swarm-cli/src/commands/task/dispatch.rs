//! Arguments of `swarm task` and their dispatch.

use swarm_protocol::TaskId;

use super::claim::TaskClaimArgs;
use super::create::TaskCreateArgs;
use super::list::TaskListArgs;
use super::update::TaskUpdateArgs;
use super::{claim, create, list, update};
use crate::app::App;
use crate::failure::Result;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum TaskCommand {
    /// Create a task, or all tasks in a file, and print their numbers.
    Create(Box<TaskCreateArgs>),
    /// List tasks with owners and dependencies.
    List(TaskListArgs),
    /// Show a task.
    Show {
        /// Task number.
        id: TaskId,
    },
    /// Update a task.
    Update(Box<TaskUpdateArgs>),
    /// Claim a task and start working on it.
    Claim(TaskClaimArgs),
    /// Release a claimed or failed task so that others can claim it.
    Release {
        /// Task number.
        id: TaskId,
    },
    /// Delete a task and remove it from other tasks' dependencies.
    #[command(alias = "rm")]
    Delete {
        /// Task number.
        id: TaskId,
    },
}

pub(in crate::commands) fn run(app: &App, command: TaskCommand) -> Result<()> {
    match command {
        TaskCommand::Create(args) => create::run(app, *args),
        TaskCommand::List(args) => list::run(app, &args),
        TaskCommand::Show { id } => list::show(app, id),
        TaskCommand::Update(args) => update::run(app, *args),
        TaskCommand::Claim(args) => claim::claim(app, &args),
        TaskCommand::Release { id } => claim::release(app, id),
        TaskCommand::Delete { id } => claim::delete(app, id),
    }
}
