//! `swarm task update`.

use std::process::ExitCode;

use swarm_protocol::{ErrorKind, TaskId, TaskStatus};
use swarm_store::{Actor, TaskChange, TaskUpdated};
use swarm_supervisor::WorktreeMerger;
use swarm_team::{Completion, CompletionError};
use tokio_util::sync::CancellationToken;

use super::create::refused;
use super::{record, tell};
use crate::app::App;
use crate::args::TaskUpdateArgs;
use crate::commands::acting::{Party, party};
use crate::commands::{members, runtime};
use crate::deployment::worktrees;
use crate::failure::Failure;
use crate::team_hooks::task_hooks;

pub(super) fn run(app: &App, args: TaskUpdateArgs) -> Result<ExitCode, Failure> {
    let party = party(app, "task update")?;
    let mut actor = party.actor();
    if args.force {
        party.require_person("--force")?;
        actor = actor.forced();
    }
    let (id, owner) = (args.id, args.owner.clone());
    let change = change(args);
    if change == TaskChange::default() {
        let failure = Failure::usage(format!("there is nothing to change in task {id}"));
        return Err(failure
            .with_hint("say what shall change: `--status`, `--owner`, `--result`, `--subject` …"));
    }
    if let Some(owner) = &owner {
        members::known(&app.store.config(&party.team)?, owner)?;
    }
    require_result(app, &party, id, &change)?;
    clear(app, &party, &actor, id, &change)?;
    let updated = app.store.update_task(&party.team, &id, change, &actor)?;
    show(app, &party, &updated)?;
    if updated.changed_fields.contains(&"owner") {
        tell::owner(app, &party, &updated.task)?;
    }
    tell::free(app, &party, &updated.unblocked)?;
    Ok(ExitCode::SUCCESS)
}

/// Lets hooks look at a task that is to be completed, and merges the work tree of its owner. The owner hears of what is in
/// the way of that.
fn clear(
    app: &App,
    party: &Party,
    actor: &Actor,
    id: TaskId,
    change: &TaskChange,
) -> Result<(), Failure> {
    if change.status != Some(TaskStatus::Completed) {
        return Ok(());
    }
    let completion = Completion {
        store: &*app.store,
        team: &party.team,
        id,
        change,
        by: actor,
        merger: Some(&WorktreeMerger(worktrees(app))),
    };
    let hooks = task_hooks(app, party)?;
    let cancel = CancellationToken::new();
    let cleared = runtime()?.block_on(completion.clear(&hooks, &cancel));
    cleared.map_err(|error| match error {
        CompletionError::Store(error) => error.into(),
        CompletionError::Hook(why) => refused(why),
        CompletionError::Merge(why) => Failure::new(ErrorKind::Conflict, why),
    })
}

/// Asks a member that completes a task for what came out: nobody else can say it. A person may leave it out.
fn require_result(
    app: &App,
    party: &Party,
    id: TaskId,
    change: &TaskChange,
) -> Result<(), Failure> {
    let completes = change.status == Some(TaskStatus::Completed);
    if party.is_person || !completes || change.result.is_some() {
        return Ok(());
    }
    if app.store.task(&party.team, &id)?.swarm().result.is_some() {
        return Ok(());
    }
    Err(Failure::usage(format!("task {id} has no result yet"))
        .with_hint("say what came out with `--result`: a text, a commit, a path"))
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
    }
}

fn show(app: &App, party: &Party, updated: &TaskUpdated) -> Result<(), Failure> {
    let task = &updated.task;
    if app.out.json {
        let list = app.store.tasks(&party.team)?;
        return app.out.json(&record::record(task, &list)?);
    }
    if updated.changed_fields.is_empty() {
        return app.out.data(&format!("#{} is so already", task.id));
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
        let ids: Vec<String> = updated
            .unblocked
            .iter()
            .map(|task| format!("#{}", task.id))
            .collect();
        app.out
            .say(&format!("no longer blocked: {}", ids.join(", ")));
    }
    Ok(())
}
