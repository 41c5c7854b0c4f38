//! `swarm task delete`.

use serde_json::json;
use swarm_protocol::TaskId;

use super::undelivered::warn_undelivered;
use crate::app::App;
use crate::commands::acting::command_actor;
use crate::failure::Failure;
use swarm_store::BlockOn as _;

pub(super) fn run(app: &App, id: TaskId) -> Result<(), Failure> {
    let command_actor = command_actor(app, "task delete")?;
    let freed = command_actor
        .team
        .delete_task(&id, &command_actor.actor())
        .block_on()?;
    let ids: Vec<TaskId> = freed.iter().map(|task| task.id).collect();
    app.out.result(
        &json!({ "id": id, "state": "deleted", "unblocked": ids }),
        &format!("#{id} is deleted"),
    )?;
    warn_undelivered(app, &*command_actor.team);
    Ok(())
}
