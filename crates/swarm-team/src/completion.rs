//! Checks before a task is completed: hooks and merging.

use swarm_hooks::AgentHooks;
use swarm_protocol::{TaskId, TaskStatus};
use swarm_store::blocking::Team;
use swarm_store::{Actor, StoreError, TaskChange};
use tokio_util::sync::CancellationToken;

use crate::WorkMerger;
use crate::merged::require_merged;
use crate::task_hooks::completed_hooks;

/// A change that may complete a task, with the merger of its work.
#[derive(Debug, Clone, Copy)]
pub struct Completion<'a> {
    /// The team.
    pub team: &'a dyn Team,
    /// The task.
    pub id: TaskId,
    /// The change.
    pub change: &'a TaskChange,
    /// The actor.
    pub by: &'a Actor,
    /// Merges the work of the owner, if configured.
    pub merger: Option<&'a dyn WorkMerger>,
}

/// The task cannot be completed. It is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum CompletionError {
    /// Rejected by the task list.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Rejected by a hook.
    #[error("{0}")]
    Hook(String),
    /// The work is not merged into the target.
    #[error("{0}")]
    Merge(String),
}

impl Completion<'_> {
    /// Runs the hooks and then merges the owner's work, if the change completes the task and the
    /// task can be completed. Other changes pass.
    ///
    /// # Errors
    /// [`CompletionError`].
    pub async fn clear(
        self,
        hooks: &AgentHooks,
        cancel: &CancellationToken,
    ) -> Result<(), CompletionError> {
        if self.change.status != Some(TaskStatus::Completed) {
            return Ok(());
        }
        let Self { team, id, .. } = self;
        let check = || team.check_update(&id, self.change, self.by);
        check()?;
        completed_hooks(team, &id, hooks, cancel)
            .await
            .map_err(CompletionError::Hook)?;
        // A hook may take minutes, during which the list may change.
        check()?;
        require_merged(team, &id, self.by, self.merger)
            .await
            .map_err(CompletionError::Merge)
    }
}
