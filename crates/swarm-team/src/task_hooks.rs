//! Task hooks, for tools and commands. The process that makes a change runs them, so that they run
//! once for each change.

use swarm_hooks::AgentHooks;
use swarm_permissions::HookEvent;
use swarm_protocol::{TaskId, TaskStatus};
use swarm_store::{Actor, Team};
use tokio_util::sync::CancellationToken;

/// Runs the hooks for created tasks. If a hook rejects one of them, all are deleted, because they
/// were created by one change.
///
/// # Errors
/// The hook's reason, or why the tasks could not be deleted.
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
        let task = team.task(id).await.map_err(|error| error.to_string())?;
        let outcome = hooks.fire_task(HookEvent::TaskCreated, &task, cancel).await;
        // As in Claude Code, these hooks cannot stop an agent.
        let why = outcome.refusal();
        refused
            .extend(why.map(|why| format!("task #{id} was not created, a hook refuses it: {why}")));
    }
    if refused.is_empty() {
        return Ok(());
    }
    for id in ids {
        if let Err(error) = team.delete_task(id, actor).await {
            refused.push(format!("task #{id} could not be taken back: {error}"));
        }
    }
    Err(refused.join("; "))
}

/// Runs the hooks for a task to be completed. They do not run for a completed task.
///
/// # Errors
/// The hook's reason; the task is unchanged.
pub(crate) async fn completed_hooks(
    team: &dyn Team,
    id: &TaskId,
    hooks: &AgentHooks,
    cancel: &CancellationToken,
) -> Result<(), String> {
    if !hooks.any(HookEvent::TaskCompleted, None) {
        return Ok(());
    }
    let task = team.task(id).await.map_err(|error| error.to_string())?;
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
