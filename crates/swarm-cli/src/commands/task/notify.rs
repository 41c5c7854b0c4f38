//! Notifies members of task changes that were already saved.

use swarm_protocol::Task;
use swarm_store::BlockOn as _;
use swarm_team::{announce_assignment, announce_unblocked};

use crate::app::App;
use crate::commands::acting::CommandActor;
use crate::failure::Failure;

/// Notifies the new owner of a task.
pub(in crate::commands) fn notify_owner(
    app: &App,
    command_actor: &CommandActor,
    task: &Task,
) -> Result<(), Failure> {
    let now = app.clock.now();
    announce_assignment(
        &*app.store.team(&command_actor.team),
        task,
        &command_actor.name,
        now,
    )
    .block_on()
    .map_err(|error| {
        let mut failure = Failure::from(error);
        failure.message = format!(
            "task {} was changed, but its owner was not notified: {}",
            task.id, failure.message
        );
        failure
    })
}

/// Notifies members and the lead of tasks that are no longer blocked.
pub(super) fn notify_unblocked(
    app: &App,
    command_actor: &CommandActor,
    tasks: &[Task],
) -> Result<(), Failure> {
    announce_unblocked(
        &*app.store.team(&command_actor.team),
        tasks,
        &command_actor.name,
    )
    .block_on()
    .map_err(|error| {
        let mut failure = Failure::from(error);
        failure.message = format!(
            "the task was changed, but members were not notified of unblocked tasks: {}",
            failure.message
        );
        failure
    })
}
