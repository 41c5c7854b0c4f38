//! `swarm task delete`.

use std::process::ExitCode;

use serde_json::json;
use swarm_protocol::TaskId;

use crate::app::App;
use crate::commands::acting::command_actor;
use crate::failure::Failure;
use swarm_store::BlockOn as _;

pub(super) fn run(app: &App, id: TaskId) -> Result<ExitCode, Failure> {
    let command_actor = command_actor(app, "task delete")?;
    let freed = app
        .store
        .team(&command_actor.team)
        .delete_task(&id, &command_actor.actor())
        .block_on()?;
    if app.out.json {
        let ids: Vec<TaskId> = freed.iter().map(|task| task.id).collect();
        app.out
            .json(&json!({ "id": id, "state": "deleted", "unblocked": ids }))?;
    } else {
        app.out.data(&format!("#{id} is deleted"))?;
    }
    Ok(ExitCode::SUCCESS)
}
