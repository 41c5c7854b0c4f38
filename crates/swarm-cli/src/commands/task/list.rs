//! `swarm task list` and `swarm task show`.

use serde_json::Value;
use swarm_protocol::{AgentId, MemberName, Task, TaskId, TaskState, UnixMs, with_commas};
use swarm_store::{BlockOn as _, TaskList};
use swarm_team::check_line;

use super::record;
use crate::app::App;
use crate::commands::members::{self, age};
use crate::failure::Result;

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

pub(super) fn run(app: &App, args: &TaskListArgs) -> Result<()> {
    let (team, list) = app.team_with(|team| team.tasks().block_on())?;
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

pub(super) fn show(app: &App, id: TaskId) -> Result<()> {
    let team = app.team()?;
    let task = team.task(&id).block_on()?;
    let list = team.tasks().block_on()?;
    let text = text(&task, &list, app.clock.now());
    app.out.result(&record::record(&task, &list)?, &text)
}

fn text(task: &Task, list: &TaskList, now: UnixMs) -> String {
    let mark = task.swarm();
    let mut lines = vec![format!(
        "#{} [{}] {}",
        task.id,
        list.state(task).name(),
        task.subject
    )];
    if let Some(owner) = &task.owner {
        let claimed = mark
            .claimed_at
            .map_or_else(String::new, |at| format!(", claimed {} ago", age(now, at)));
        lines.push(format!("owner       {owner}{claimed}"));
    }
    let edges = |ids: &[TaskId]| {
        with_commas(ids.iter().map(|id| match list.get(*id) {
            Some(other) => format!("#{id} ({})", list.state(other).name()),
            None => format!("#{id} (missing)"),
        }))
    };
    if !task.blocked_by.is_empty() {
        lines.push(format!("waits for   {}", edges(&task.blocked_by)));
    }
    if !task.blocks.is_empty() {
        lines.push(format!("blocks      {}", edges(&task.blocks)));
    }
    if mark.attempt > 0 {
        let note = mark.note.as_ref();
        let ending = note.map_or_else(String::new, |note| format!("; the last: {note}"));
        lines.push(format!(
            "attempts    {} failed when their owner stopped{ending}",
            mark.attempt
        ));
    }
    if let Some(failed) = &mark.failed {
        lines.push(format!("failed      {}", failed.reason));
    }
    for check in &mark.checks {
        let ran = check.last.as_ref();
        let ago = ran.map_or_else(String::new, |run| format!(", {} ago", age(now, run.at)));
        lines.push(format!("check       {}{ago}", check_line(check)));
        let failed = ran.filter(|run| !run.has_passed());
        let output = failed.map_or("", |run| &run.output);
        lines.extend(output.lines().map(|line| format!("            {line}")));
    }
    if let Some(result) = &mark.result {
        lines.push(format!("result      {result}"));
    }
    if !task.description.trim().is_empty() {
        lines.push(String::new());
        lines.push(task.description.trim_end().to_owned());
    }
    lines.join("\n")
}
