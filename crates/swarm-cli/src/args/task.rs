//! `swarm task …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value};
use swarm_protocol::{MemberName, TaskId, TaskState, TaskStatus};

/// What to do with the task list.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Create a task, or all tasks in a file, and print their numbers.
    Create(TaskCreateArgs),
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
    Delete {
        /// Task number.
        id: TaskId,
    },
}

/// Which tasks to list.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm task list
  swarm task list --status pending,blocked --owner bob")]
pub(crate) struct TaskListArgs {
    /// Only tasks in these states, comma-separated [default: all].
    #[arg(long, value_enum, value_name = "STATES", value_delimiter = ',')]
    pub(crate) status: Vec<StateWord>,
    /// Only tasks owned by this member.
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<MemberName>,
}

/// The states of a task as they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StateWord {
    /// Ready to start.
    Pending,
    /// Waiting for other tasks.
    Blocked,
    /// In progress.
    #[value(name = "in_progress", alias = "in-progress")]
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Failed,
}

impl From<StateWord> for TaskState {
    fn from(word: StateWord) -> Self {
        match word {
            StateWord::Pending => Self::Pending,
            StateWord::Blocked => Self::Blocked,
            StateWord::InProgress => Self::InProgress,
            StateWord::Completed => Self::Completed,
            StateWord::Failed => Self::Failed,
        }
    }
}

/// A task to be made.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm task create \"Find the cause\" --owner alice
  swarm task create \"Fix it\" --blocked-by 1
  swarm task create --file tasks.json

In a file, tasks can depend on each other by `ref`:
  [{\"ref\": \"a\", \"subject\": \"Find it\"},
   {\"subject\": \"Fix it\", \"blockedBy\": [\"a\"]}]")]
pub(crate) struct TaskCreateArgs {
    /// Short description of the task.
    #[arg(required_unless_present = "file")]
    pub(crate) subject: Option<String>,
    /// Full description of the task.
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// Subject to show while the task is in progress.
    #[arg(long, value_name = "TEXT")]
    pub(crate) active_form: Option<String>,
    /// Owner [default: none; any member can claim it].
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<MemberName>,
    /// Tasks that must be completed first, comma-separated.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) blocked_by: Vec<TaskId>,
    /// Metadata as a JSON object.
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    pub(crate) metadata: Option<Map<String, Value>>,
    /// Create all tasks in a JSON list, or none; - reads standard input.
    #[arg(
        long,
        value_name = "FILE|-",
        conflicts_with_all = ["subject", "description", "active_form", "owner", "blocked_by", "metadata"],
    )]
    pub(crate) file: Option<PathBuf>,
}

/// A change of a task.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm task update 2 --owner bob --add-blocked-by 1
  swarm task update 1 --status completed --result \"commit 4f2c1e\" --force")]
pub(crate) struct TaskUpdateArgs {
    /// Task number.
    pub(crate) id: TaskId,
    /// New status.
    #[arg(long, value_enum)]
    pub(crate) status: Option<StatusWord>,
    /// New subject.
    #[arg(long)]
    pub(crate) subject: Option<String>,
    /// New description.
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// Subject to show while the task is in progress.
    #[arg(long, value_name = "TEXT")]
    pub(crate) active_form: Option<String>,
    /// New owner; use `release` to remove the owner.
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<MemberName>,
    /// Tasks that must wait for this one, comma-separated.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) add_blocks: Vec<TaskId>,
    /// Tasks that this one must wait for, comma-separated.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) add_blocked_by: Vec<TaskId>,
    /// Metadata to set as a JSON object; null removes a key.
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    pub(crate) metadata: Option<Map<String, Value>>,
    /// Result, such as a text, a commit or a path; required when a member completes a task.
    #[arg(long, value_name = "TEXT")]
    pub(crate) result: Option<String>,
    /// Update a task that another member owns; people only.
    #[arg(long)]
    pub(crate) force: bool,
}

/// The status words of a task on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusWord {
    /// Not started.
    Pending,
    /// In progress.
    #[value(name = "in_progress", alias = "in-progress")]
    InProgress,
    /// Done.
    Completed,
}

impl From<StatusWord> for TaskStatus {
    fn from(word: StatusWord) -> Self {
        match word {
            StatusWord::Pending => Self::Pending,
            StatusWord::InProgress => Self::InProgress,
            StatusWord::Completed => Self::Completed,
        }
    }
}

/// A task to be taken.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm task claim 2
  swarm task claim --next --as bob")]
pub(crate) struct TaskClaimArgs {
    /// Task number.
    #[arg(required_unless_present = "next")]
    pub(crate) id: Option<TaskId>,
    /// Claim the next available task, preferring the member's own.
    #[arg(long, conflicts_with = "id")]
    pub(crate) next: bool,
    /// Member that claims the task [default: the calling member, else team-lead].
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) member: Option<MemberName>,
}

fn json_object(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("it is JSON, but not an object: write it as {\"key\": value}".to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}
