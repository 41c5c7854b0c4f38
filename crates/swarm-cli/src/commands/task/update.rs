//! `swarm task update`.

use std::process::ExitCode;

use swarm_store::{TaskChange, TaskUpdated};

use super::{record, tell};
use crate::app::App;
use crate::args::TaskUpdateArgs;
use crate::commands::acting::{Party, party};
use crate::failure::Failure;

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
        let failure = Failure::usage(format!("nothing of task {id} is to be changed"));
        return Err(failure.with_hint("say what: --status, --owner, --result, --subject …"));
    }
    let updated = app.store.update_task(&party.team, &id, change, &actor)?;
    show(app, &party, &updated)?;
    tell::warn_of_stranger(app, &party, owner.as_ref())?;
    if updated.changed_fields.contains(&"owner") {
        tell::owner(app, &party, &updated.task)?;
    }
    tell::free(app, &party, &updated.unblocked)?;
    Ok(ExitCode::SUCCESS)
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
