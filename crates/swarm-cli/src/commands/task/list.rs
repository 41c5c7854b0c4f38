//! `swarm task list`.

use std::process::ExitCode;

use serde_json::Value;

use super::record;
use crate::app::App;
use crate::failure::Failure;

pub(super) fn run(app: &App) -> Result<ExitCode, Failure> {
    let team = app.team()?;
    let mut list = app.store.tasks(&team)?;
    let broken = std::mem::take(&mut list.broken);
    if app.out.json {
        let records = list.tasks.iter().map(|task| record::record(task, &list));
        app.out.json(&records.collect::<Result<Vec<Value>, _>>()?)?;
    } else if list.tasks.is_empty() {
        app.out
            .say("there are no tasks; make one with `swarm task create SUBJECT`");
    } else {
        app.out.table(&record::table(&list.tasks, &list))?;
    }
    // The sound ones have been shown; whoever relies on the list must still hear of the others.
    match broken.into_iter().next() {
        Some(broken) => Err(swarm_store::StoreError::from(broken).into()),
        None => Ok(ExitCode::SUCCESS),
    }
}
