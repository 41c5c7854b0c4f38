//! `swarm task create`.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use swarm_protocol::{Budget, BudgetScope, MemberName, NewTask, TaskId};
use swarm_store::{BlockOn as _, Team};
use swarm_team::created_hooks;
use tokio_util::sync::CancellationToken;

use super::record::warn_undelivered;
use super::{file, record};
use crate::app::App;
use crate::commands::acting::{CommandActor, command_actor};
use crate::commands::{members, runtime};
use crate::failure::{Failure, Result};
use crate::team_hooks::task_hooks;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm task create \"Find the cause\" --owner alice
  swarm task create \"Fix it\" --blocked-by 1 --check \"cargo test\"
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
    /// Command that must succeed before the task can be completed; repeatable; not for agents.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Vec<String>,
    /// Metadata as a JSON object.
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    pub(crate) metadata: Option<Map<String, Value>>,
    /// Budget of the task, for any owner, such as 5$ or 500k-tokens; not for agents [default: setting `budget.task`].
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) budget: Option<Budget>,
    /// Create all tasks in a JSON list, or none; - reads standard input.
    #[arg(
        long,
        value_name = "FILE|-",
        conflicts_with_all = ["subject", "description", "active_form", "owner", "blocked_by", "metadata", "budget", "check"],
    )]
    pub(crate) file: Option<PathBuf>,
}

pub(super) fn json_object(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("it is JSON, but not an object: write it as {\"key\": value}".to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

pub(super) fn run(app: &App, args: TaskCreateArgs) -> Result<()> {
    let command_actor = command_actor(app, "task create")?;
    let budget = args.budget;
    if budget.is_some() {
        command_actor.require_person("task create --budget")?;
    }
    let (new, refs) = match &args.file {
        Some(path) => {
            let listed = file::read(path, &app.env.cwd)?;
            (listed.tasks, Some(listed.refs))
        }
        None => (vec![single(args)], None),
    };
    if new.iter().any(|task| task.subject.trim().is_empty()) {
        return Err(
            Failure::usage("a task needs a subject").with_hint("describe the task in a few words")
        );
    }
    check_checks(&command_actor, &new)?;
    let (team, actor) = (&command_actor.team, command_actor.actor());
    let config = team.config().block_on()?;
    for owner in new.iter().filter_map(|task| task.owner.as_ref()) {
        members::known(&config, owner)?;
    }
    let ids = team.create_tasks(&new, &actor).block_on()?;
    if let (Some(budget), Some(id)) = (budget, ids.first()) {
        team.set_budget(&BudgetScope::Task(*id), Some(budget))
            .block_on()?;
    }
    let hooks = task_hooks(app, &command_actor)?;
    let cancel = CancellationToken::new();
    let looked_at = created_hooks(&**team, &ids, &hooks, &actor, &cancel);
    runtime()?.block_on(looked_at).map_err(refused)?;
    show(app, &**team, &ids, refs.as_deref())?;
    let announced = team.announce_tasks(&ids, &actor).block_on();
    announced.map_err(|error| {
        let mut failure = Failure::from(error);
        failure.message = format!(
            "the tasks were created, but their owners were not notified: {}",
            failure.message
        );
        failure
    })?;
    warn_undelivered(app, &**team);
    Ok(())
}

/// Refuses empty checks, and those of a member: only its own tool asks for the permission that the
/// commands need.
fn check_checks(command_actor: &CommandActor, new: &[NewTask]) -> Result<()> {
    let mut checks = new.iter().flat_map(|task| &task.checks).peekable();
    if checks.peek().is_some() && !command_actor.is_person {
        let message = "`swarm task create` sets checks for people only";
        return Err(Failure::refused(message)
            .with_hint("create the task with the tool TaskCreate and its parameter `checks`"));
    }
    if checks.any(|check| check.trim().is_empty()) {
        return Err(Failure::usage("a check is empty").with_hint("give a shell command"));
    }
    Ok(())
}

pub(super) fn refused(why: String) -> Failure {
    Failure::refused(why)
        .with_hint("follow the hook's message, or contact the person who configured it")
}

fn single(args: TaskCreateArgs) -> NewTask {
    NewTask {
        subject: args.subject.unwrap_or_default(),
        description: args.description.unwrap_or_default(),
        active_form: args.active_form,
        owner: args.owner,
        blocked_by: args.blocked_by,
        after: Vec::new(),
        metadata: args.metadata,
        checks: args.check,
    }
}

/// Prints the task numbers or records; for a file, each record includes its `ref`.
fn show(app: &App, team: &dyn Team, ids: &[TaskId], refs: Option<&[Option<String>]>) -> Result<()> {
    let name = |place: usize| refs.and_then(|refs| refs.get(place)?.as_deref());
    if !app.out.json {
        let line = |(place, id): (usize, &TaskId)| match name(place) {
            Some(name) => format!("{id} {}", swarm_ui::clean_line(name)),
            None => id.to_string(),
        };
        let lines: Vec<String> = ids.iter().enumerate().map(line).collect();
        return app.out.data(&lines.join("\n"));
    }
    let list = team.tasks().block_on()?;
    let mut records = Vec::with_capacity(ids.len());
    for (place, id) in ids.iter().enumerate() {
        let Some(task) = list.get(*id) else { continue };
        let mut record = record::record(task, &list)?;
        if let Some(name) = name(place) {
            record["ref"] = json!(name);
        }
        records.push(record);
    }
    match &records[..] {
        [one] if refs.is_none() => app.out.json(one),
        records => app.out.json(&records),
    }
}
