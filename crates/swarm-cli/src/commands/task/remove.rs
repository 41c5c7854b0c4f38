//! `swarm task delete`.

use std::process::ExitCode;

use serde_json::json;
use swarm_protocol::TaskId;

use super::tell;
use crate::app::App;
use crate::commands::acting::party;
use crate::failure::Failure;

pub(super) fn run(app: &App, id: TaskId) -> Result<ExitCode, Failure> {
    let party = party(app, "task delete")?;
    let freed = app
        .store
        .team(&party.team)
        .delete_task(&id, &party.actor())?;
    if app.out.json {
        let ids: Vec<TaskId> = freed.iter().map(|task| task.id).collect();
        app.out
            .json(&json!({ "id": id, "state": "deleted", "unblocked": ids }))?;
    } else {
        app.out.data(&format!("#{id} is deleted"))?;
    }
    tell::free(app, &party, &freed)?;
    Ok(ExitCode::SUCCESS)
}
