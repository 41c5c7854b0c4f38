//! `swarm task create`.

use std::path::Path;
use std::process::ExitCode;

use swarm_protocol::{NewTask, Task, TaskId};

use super::{record, tell};
use crate::app::App;
use crate::args::TaskCreateArgs;
use crate::commands::acting::{Party, party};
use crate::commands::given;
use crate::failure::Failure;

pub(super) fn run(app: &App, args: TaskCreateArgs) -> Result<ExitCode, Failure> {
    let party = party(app, "task create")?;
    let from_file = args.file.is_some();
    let new = match &args.file {
        Some(path) => read(path, &app.env.cwd)?,
        None => vec![single(args)],
    };
    if new.iter().any(|task| task.subject.trim().is_empty()) {
        return Err(Failure::usage("a task needs a subject")
            .with_hint("say in a few words what is to be done"));
    }
    let ids = app.store.create_tasks(&party.team, &new, &party.actor())?;
    show(app, &party, &ids, from_file)?;
    let list = app.store.tasks(&party.team)?;
    let made: Vec<&Task> = ids.iter().filter_map(|id| list.get(*id)).collect();
    for (task, new) in made.into_iter().zip(&new) {
        tell::warn_of_stranger(app, &party, new.owner.as_ref())?;
        tell::owner(app, &party, task)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn single(args: TaskCreateArgs) -> NewTask {
    NewTask {
        subject: args.subject.unwrap_or_default(),
        description: args.description.unwrap_or_default(),
        active_form: args.active_form,
        owner: args.owner,
        blocked_by: args.blocked_by,
        metadata: args.metadata,
    }
}

fn read(path: &Path, base: &Path) -> Result<Vec<NewTask>, Failure> {
    let text = given::file(path, base)?;
    let origin = given::name(path);
    let new: Vec<NewTask> = serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("{origin} is not a list of tasks: {error}")).with_hint(
            "write it as [{\"subject\": …, \"description\": …, \"owner\": …, \"blockedBy\": [\"1\"]}]",
        )
    })?;
    if new.is_empty() {
        return Err(Failure::usage(format!("{origin} holds no tasks")));
    }
    Ok(new)
}

fn show(app: &App, party: &Party, ids: &[TaskId], from_file: bool) -> Result<(), Failure> {
    if !app.out.json {
        let lines: Vec<String> = ids.iter().map(ToString::to_string).collect();
        return app.out.data(&lines.join("\n"));
    }
    let list = app.store.tasks(&party.team)?;
    let records = ids
        .iter()
        .filter_map(|id| list.get(*id))
        .map(|task| record::record(task, &list))
        .collect::<Result<Vec<_>, _>>()?;
    match &records[..] {
        [one] if !from_file => app.out.json(one),
        records => app.out.json(&records),
    }
}
