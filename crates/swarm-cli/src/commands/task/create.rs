//! `swarm task create`.

use std::process::ExitCode;

use serde_json::json;
use swarm_protocol::{ErrorKind, NewTask, TaskId};
use swarm_team::created_hooks;
use tokio_util::sync::CancellationToken;

use super::{file, record, tell};
use crate::app::App;
use crate::args::TaskCreateArgs;
use crate::commands::acting::{Party, party};
use crate::commands::{members, runtime};
use crate::failure::Failure;
use crate::team_hooks::task_hooks;

pub(super) fn run(app: &App, args: TaskCreateArgs) -> Result<ExitCode, Failure> {
    let party = party(app, "task create")?;
    let (new, refs) = match &args.file {
        Some(path) => {
            let listed = file::read(path, &app.env.cwd)?;
            (listed.tasks, Some(listed.refs))
        }
        None => (vec![single(args)], None),
    };
    if new.iter().any(|task| task.subject.trim().is_empty()) {
        return Err(Failure::usage("a task needs a subject")
            .with_hint("say in a few words what is to be done"));
    }
    let config = app.store.config(&party.team)?;
    for owner in new.iter().filter_map(|task| task.owner.as_ref()) {
        members::known(&config, owner)?;
    }
    let ids = app.store.create_tasks(&party.team, &new, &party.actor())?;
    let hooks = task_hooks(app, &party)?;
    let cancel = CancellationToken::new();
    let actor = party.actor();
    let looked_at = created_hooks(&*app.store, &party.team, &ids, &hooks, &actor, &cancel);
    runtime()?.block_on(looked_at).map_err(refused)?;
    show(app, &party, &ids, refs.as_deref())?;
    let list = app.store.tasks(&party.team)?;
    for task in ids.iter().filter_map(|id| list.get(*id)) {
        tell::owner(app, &party, task)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn refused(why: String) -> Failure {
    Failure::new(ErrorKind::Refused, why)
        .with_hint("do what the hook asks for, or ask whoever set it up")
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
    }
}

/// The numbers, or the records; for a file a list, in which each record has the name that it had there.
fn show(
    app: &App,
    party: &Party,
    ids: &[TaskId],
    refs: Option<&[Option<String>]>,
) -> Result<(), Failure> {
    let name = |place: usize| refs.and_then(|refs| refs.get(place)?.as_deref());
    if !app.out.json {
        let line = |(place, id): (usize, &TaskId)| match name(place) {
            Some(name) => format!("{id} {}", swarm_ui::clean_line(name)),
            None => id.to_string(),
        };
        let lines: Vec<String> = ids.iter().enumerate().map(line).collect();
        return app.out.data(&lines.join("\n"));
    }
    let list = app.store.tasks(&party.team)?;
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
