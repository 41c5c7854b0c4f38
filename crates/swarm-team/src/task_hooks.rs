//! Hooks of tasks, for the tools and the command line alike: whoever makes the change runs them, so
//! that each change has them once.

use swarm_hooks::AgentHooks;
use swarm_permissions::HookEvent;
use swarm_protocol::{TaskId, TaskStatus};
use swarm_store::Actor;
use swarm_store::blocking::Team;
use tokio_util::sync::CancellationToken;

/// Lets hooks look at tasks that were just made. Where one of them is refused all are taken back,
/// as one change makes them all.
///
/// # Errors
/// The hook's words, or why the tasks could not be taken back.
pub async fn created_hooks(
    team: &dyn Team,
    ids: &[TaskId],
    hooks: &AgentHooks,
    actor: &Actor,
    cancel: &CancellationToken,
) -> Result<(), String> {
    if !hooks.any(HookEvent::TaskCreated, None) {
        return Ok(());
    }
    let mut refused = Vec::new();
    for id in ids {
        let task = team.task(id).map_err(|error| error.to_string())?;
        let outcome = hooks.fire_task(HookEvent::TaskCreated, &task, cancel).await;
        // It may end an agent in Claude Code neither.
        let why = outcome.refusal();
        refused
            .extend(why.map(|why| format!("task #{id} was not created, a hook refuses it: {why}")));
    }
    if refused.is_empty() {
        return Ok(());
    }
    for id in ids {
        if let Err(error) = team.delete_task(id, actor) {
            refused.push(format!("task #{id} could not be taken back: {error}"));
        }
    }
    Err(refused.join("; "))
}

/// Lets hooks look at a task that is to be completed. One that is completed already is not asked
/// about again.
///
/// # Errors
/// The hook's words; the task stays as it is.
pub(crate) async fn completed_hooks(
    team: &dyn Team,
    id: &TaskId,
    hooks: &AgentHooks,
    cancel: &CancellationToken,
) -> Result<(), String> {
    if !hooks.any(HookEvent::TaskCompleted, None) {
        return Ok(());
    }
    let task = team.task(id).map_err(|error| error.to_string())?;
    if task.status == TaskStatus::Completed {
        return Ok(());
    }
    let outcome = hooks
        .fire_task(HookEvent::TaskCompleted, &task, cancel)
        .await;
    match outcome.refusal() {
        Some(why) => Err(format!(
            "task #{id} is not completed, a hook refuses it: {why}"
        )),
        None => Ok(()),
    }
}
