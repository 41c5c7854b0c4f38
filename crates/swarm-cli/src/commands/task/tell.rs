//! Notifies members of task changes that were already saved.

use swarm_protocol::Task;
use swarm_team::{announce_assignment, announce_unblocked};

use crate::app::App;
use crate::commands::acting::Party;
use crate::failure::Failure;

/// Notifies the new owner of a task.
pub(super) fn owner(app: &App, party: &Party, task: &Task) -> Result<(), Failure> {
    let now = app.clock.now();
    announce_assignment(&*app.store.team(&party.team), task, &party.name, now).map_err(|error| {
        let mut failure = Failure::from(error);
        failure.message = format!(
            "task {} was changed, but its owner was not notified: {}",
            task.id, failure.message
        );
        failure
    })
}

/// Notifies members and the lead of tasks that are no longer blocked.
pub(super) fn free(app: &App, party: &Party, tasks: &[Task]) -> Result<(), Failure> {
    announce_unblocked(&*app.store.team(&party.team), tasks, &party.name).map_err(|error| {
        let mut failure = Failure::from(error);
        failure.message = format!(
            "the task was changed, but members were not notified of unblocked tasks: {}",
            failure.message
        );
        failure
    })
}
