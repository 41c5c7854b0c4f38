//! `swarm task update`.

use std::sync::Arc;

use serde_json::{Map, Value};
use swarm_protocol::{CheckRun, MemberName, ShellGuards, TaskId, TaskStatus, task_numbers};
use swarm_store::{Actor, BlockOn as _, TaskChange, TaskUpdated, Team};
use swarm_supervisor::WorktreeMerger;
use swarm_team::{Completion, CompletionError};
use swarm_tools::{Caller, Confinement, ToolContext};
use tokio_util::sync::CancellationToken;

use super::claim::claimant;
use super::create::{json_object, refused};
use super::record::{self, warn_undelivered};
use crate::app::App;
use crate::commands::acting::{CommandActor, command_actor};
use crate::commands::{members, runtime};
use crate::failure::{Failure, Result};
use crate::shell_guards::{sandbox_backend, shell_guards};
use crate::spawn_context::{teammate_program, worktrees};
use crate::team_hooks::task_hooks;

#[derive(Debug, clap::Args)]
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
    /// Member that updates the task [default: the calling member, else team-lead].
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) member: Option<MemberName>,
    /// Update a task that another member owns; people only.
    #[arg(long)]
    pub(crate) force: bool,
}

/// The status words of a task on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
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

pub(super) fn run(app: &App, args: TaskUpdateArgs) -> Result<()> {
    let command_actor = command_actor(app, "task update")?;
    let mut actor = claimant(&command_actor, args.member.as_ref())?;
    if args.force {
        command_actor.require_person("--force")?;
        actor = actor.forced();
    }
    let (id, owner) = (args.id, args.owner.clone());
    let change = change(args);
    if change == TaskChange::default() {
        let failure = Failure::usage(format!("no changes given for task {id}"));
        return Err(
            failure.with_hint("specify a change: `--status`, `--owner`, `--result`, `--subject` …")
        );
    }
    if let Some(owner) = &owner {
        members::known(&command_actor.team.known_config().block_on()?, owner)?;
    }
    require_result(&command_actor, id, &change)?;
    let check_runs = clear(app, &command_actor, &actor, id, &change)?;
    let change = TaskChange {
        check_runs,
        ..change
    };
    let updated = command_actor
        .team
        .update_task(&id, change, &actor)
        .block_on()?;
    show(app, &command_actor, &updated)?;
    warn_undelivered(app, &*command_actor.team);
    Ok(())
}

/// Runs the hooks and checks for a task that is about to be completed, and merges its owner's
/// worktree. Conflicts are reported to the owner. Returns the runs of the checks.
fn clear(
    app: &App,
    command_actor: &CommandActor,
    actor: &Actor,
    id: TaskId,
    change: &TaskChange,
) -> Result<Vec<CheckRun>> {
    if change.status != Some(TaskStatus::Completed) {
        return Ok(Vec::new());
    }
    let team = &*command_actor.team;
    let shell = check_shell(app, team, id)?;
    let completion = Completion {
        team,
        id,
        change,
        by: actor,
        merger: Some(&WorktreeMerger(worktrees(app))),
        shell: shell.as_ref(),
        clock: &*app.clock,
    };
    let hooks = task_hooks(app, command_actor)?;
    let cancel = CancellationToken::new();
    let progress = |line: &str| app.out.say(line);
    let cleared = runtime()?.block_on(completion.clear(&hooks, &cancel, &progress));
    cleared.map_err(|error| match error {
        CompletionError::Store(error) => error.into(),
        CompletionError::Hook(why) => refused(why),
        CompletionError::Check(why) => Failure::refused(why),
        CompletionError::Merge(why) => Failure::conflict(why),
    })
}

/// Requires a result from a member that completes a task; a person may omit it.
fn require_result(command_actor: &CommandActor, id: TaskId, change: &TaskChange) -> Result<()> {
    let completes = change.status == Some(TaskStatus::Completed);
    if command_actor.is_person || !completes || change.result.is_some() {
        return Ok(());
    }
    let task = command_actor.team.task(&id).block_on()?;
    if task.swarm().result.is_some() {
        return Ok(());
    }
    Err(Failure::usage(format!("task {id} has no result yet"))
        .with_hint("give the result with `--result`: a text, a commit or a path"))
}

fn change(args: TaskUpdateArgs) -> TaskChange {
    TaskChange {
        status: args.status.map(Into::into),
        subject: args.subject,
        description: args.description,
        active_form: args.active_form,
        owner: args.owner,
        add_blocks: args.add_blocks,
        add_blocked_by: args.add_blocked_by,
        metadata: args.metadata,
        result: args.result,
        check_runs: Vec::new(),
    }
}

fn show(app: &App, command_actor: &CommandActor, updated: &TaskUpdated) -> Result<()> {
    let task = &updated.task;
    if app.out.json {
        let list = command_actor.team.tasks().block_on()?;
        return app.out.json(&record::record(task, &list)?);
    }
    if updated.changed_fields.is_empty() {
        return app.out.data(&format!("#{} is unchanged", task.id));
    }
    let mut line = format!(
        "#{} changed: {}",
        task.id,
        updated.changed_fields.join(", ")
    );
    if let Some(change) = updated.status_change {
        line = format!("{line}; it is {}", change.to.name());
    }
    app.out.data(&line)?;
    if !updated.unblocked.is_empty() {
        let ids = task_numbers(updated.unblocked.iter().map(|task| task.id));
        app.out.say(&format!("no longer blocked: {ids}"));
    }
    Ok(())
}

/// Returns the shell for the checks of a task: in its owner's directory, with the sandbox that the
/// owner's commands have. `None` for a task without checks.
pub(in crate::commands) fn check_shell(
    app: &App,
    team: &dyn Team,
    id: TaskId,
) -> Result<Option<ToolContext>> {
    let task = team.task(&id).block_on()?;
    if task.checks().is_empty() || task.status == TaskStatus::Completed {
        return Ok(None);
    }
    let config = team.config().block_on()?;
    let owner = config
        .members
        .iter()
        .find(|member| task.is_owned_by(&member.id_in(team.name())));
    let directory = owner.map(|owner| owner.cwd.as_path());
    let directory = directory.filter(|directory| directory.is_dir());
    let name = owner.map_or_else(MemberName::lead, |owner| owner.name.clone());
    let worktree = owner.and_then(|owner| owner.worktree_path.as_deref());
    let guards = ShellGuards {
        backend: sandbox_backend(app)?,
        ..shell_guards(app, &teammate_program(&app.env)?)?
    };
    Ok(Some(ToolContext {
        env: Arc::new(app.env.shell(&app.settings.pass)),
        guards: Arc::new(guards),
        confine: worktree.map(|worktree| Arc::new(Confinement::new(worktree))),
        ..ToolContext::new(
            directory.unwrap_or(&app.env.cwd).to_owned(),
            Caller::new(name),
        )
    }))
}
