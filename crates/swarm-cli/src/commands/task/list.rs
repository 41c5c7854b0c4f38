//! `swarm task list`.

use serde_json::Value;
use swarm_protocol::{AgentId, MemberName, Task, TaskState};

use super::record;
use crate::app::App;
use crate::commands::members;
use crate::failure::Failure;
use swarm_store::BlockOn as _;

#[derive(Debug, clap::Args)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
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

pub(super) fn run(app: &App, args: &TaskListArgs) -> Result<(), Failure> {
    let team = app.team()?;
    let list = team.tasks().block_on()?;
    let owner = args.owner.as_ref();
    let owner = owner.map(|name| AgentId::new(name.clone(), team.name().clone()));
    if let Some(owner) = owner.as_ref()
        && !list.tasks.iter().any(|task| task.is_owned_by(owner))
    {
        members::known(&team.config().block_on()?, &owner.name)?;
    }
    let is_wanted = |task: &&Task| {
        let state = list.state(task);
        let in_state = args
            .status
            .iter()
            .any(|word| TaskState::from(*word) == state);
        (args.status.is_empty() || in_state)
            && owner.as_ref().is_none_or(|owner| task.is_owned_by(owner))
    };
    let wanted: Vec<&Task> = list.tasks.iter().filter(is_wanted).collect();
    if app.out.json {
        let records = wanted.iter().map(|task| record::record(task, &list));
        app.out.json(&records.collect::<Result<Vec<Value>, _>>()?)?;
    } else if list.tasks.is_empty() {
        app.out
            .say("no tasks; create one with `swarm task create SUBJECT`");
    } else if wanted.is_empty() {
        app.out.say("no matching tasks");
    } else {
        app.out.table(&record::full_table(wanted, &list))?;
    }
    app.out.left_out(&list.broken);
    Ok(())
}
