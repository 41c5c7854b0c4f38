//! `swarm task …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value};
use swarm_protocol::{MemberName, TaskId, TaskStatus};

/// What to do with the task list.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Make a task, or all tasks of a file, and print their numbers.
    Create(TaskCreateArgs),
    /// List the tasks.
    List,
    /// Show one task in full.
    Show {
        /// Its number.
        id: TaskId,
    },
    /// Change a task.
    Update(Box<TaskUpdateArgs>),
    /// Take a task: its owner starts on it.
    Claim(TaskClaimArgs),
    /// Give a task back, so that anybody may take it; also one that was given up.
    Release {
        /// Its number.
        id: TaskId,
    },
    /// Delete a task and every edge to it; its number is not used again.
    Delete {
        /// Its number.
        id: TaskId,
    },
}

/// A task to be made.
#[derive(Debug, Args)]
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
    /// The member who shall do it.
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<MemberName>,
    /// Tasks that must be completed first, with commas between them.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) blocked_by: Vec<TaskId>,
    /// Free data of the task, a JSON object.
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    pub(crate) metadata: Option<Map<String, Value>>,
    /// Make all tasks of a JSON list, or none; - reads standard input.
    #[arg(
        long,
        value_name = "FILE|-",
        conflicts_with_all = ["subject", "description", "active_form", "owner", "blocked_by", "metadata"],
    )]
    pub(crate) file: Option<PathBuf>,
}

/// A change of a task.
#[derive(Debug, Args)]
pub(crate) struct TaskUpdateArgs {
    /// Its number.
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
    /// What came out.
    #[arg(long, value_name = "TEXT")]
    pub(crate) result: Option<String>,
    /// Change it even though another member has it; for people only.
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
pub(crate) struct TaskClaimArgs {
    /// Its number.
    #[arg(required_unless_present = "next")]
    pub(crate) id: Option<TaskId>,
    /// Take the free task with the lowest number, one's own first.
    #[arg(long, conflicts_with = "id")]
    pub(crate) next: bool,
    /// Take it for this member instead of the team lead.
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
