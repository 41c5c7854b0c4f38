//! `swarm task …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value};
use swarm_protocol::{MemberName, TaskId, TaskState, TaskStatus};

/// What to do with the task list.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Make a task, or all tasks of a file, and print their numbers.
    Create(TaskCreateArgs),
    /// List the tasks: who owns each, and what it waits for.
    List(TaskListArgs),
    /// Show one task in full.
    Show {
        /// Its number, as `swarm task list` shows it.
        id: TaskId,
    },
    /// Change a task.
    Update(Box<TaskUpdateArgs>),
    /// Claim a task: become its owner and start on it.
    Claim(TaskClaimArgs),
    /// Release a task, so that anybody may claim it; also one that failed.
    Release {
        /// Its number, as `swarm task list` shows it.
        id: TaskId,
    },
    /// Delete a task; none waits for it any more, and its number is not used again.
    Delete {
        /// Its number, as `swarm task list` shows it.
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
    /// Only tasks in these states, with commas between them [default: all].
    #[arg(long, value_enum, value_name = "STATES", value_delimiter = ',')]
    pub(crate) status: Vec<StateWord>,
    /// Only tasks that this member owns.
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<MemberName>,
}

/// The states of a task as they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StateWord {
    /// To be done, nothing in its way.
    Pending,
    /// It waits for others.
    Blocked,
    /// Its owner works on it.
    #[value(name = "in_progress", alias = "in-progress")]
    InProgress,
    /// It is done.
    Completed,
    /// It was given up.
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
  swarm task create \"Mend it\" --blocked-by 1
  swarm task create --file tasks.json

In a file, tasks may wait for others by their `ref`:
  [{\"ref\": \"a\", \"subject\": \"Find it\"},
   {\"subject\": \"Mend it\", \"blockedBy\": [\"a\"]}]")]
pub(crate) struct TaskCreateArgs {
    /// What is to be done, in a few words.
    #[arg(required_unless_present = "file")]
    pub(crate) subject: Option<String>,
    /// What is to be done, in full.
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// The subject as it reads while somebody works on it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) active_form: Option<String>,
    /// The member who shall do it [default: nobody; whoever claims it].
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<MemberName>,
    /// Tasks that must be completed first, with commas between them.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) blocked_by: Vec<TaskId>,
    /// Free data of the task, a JSON object.
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    pub(crate) metadata: Option<Map<String, Value>>,
    /// Make all tasks of a JSON list, or none of them; - reads standard input.
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
    /// Its number, as `swarm task list` shows it.
    pub(crate) id: TaskId,
    /// Its new status.
    #[arg(long, value_enum)]
    pub(crate) status: Option<StatusWord>,
    /// Its new subject.
    #[arg(long)]
    pub(crate) subject: Option<String>,
    /// Its new description.
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// The subject as it reads while somebody works on it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) active_form: Option<String>,
    /// The member who shall do it; to have none, release the task.
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<MemberName>,
    /// Tasks that shall wait for this one, with commas between them.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) add_blocks: Vec<TaskId>,
    /// Tasks that this one shall wait for, with commas between them.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) add_blocked_by: Vec<TaskId>,
    /// Free data to set, a JSON object; a key with null is taken away.
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    pub(crate) metadata: Option<Map<String, Value>>,
    /// What came out: a text, a commit, a path. A member must give it to complete a task.
    #[arg(long, value_name = "TEXT")]
    pub(crate) result: Option<String>,
    /// Change it though another member owns it; only a person may.
    #[arg(long)]
    pub(crate) force: bool,
}

/// The status words of a task on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusWord {
    /// Nobody works on it.
    Pending,
    /// Its owner works on it.
    #[value(name = "in_progress", alias = "in-progress")]
    InProgress,
    /// It is done.
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
    /// Its number, as `swarm task list` shows it.
    #[arg(required_unless_present = "next")]
    pub(crate) id: Option<TaskId>,
    /// Claim the free task with the lowest number, the member's own first.
    #[arg(long, conflicts_with = "id")]
    pub(crate) next: bool,
    /// The member who claims it [default: a member itself, else team-lead].
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
