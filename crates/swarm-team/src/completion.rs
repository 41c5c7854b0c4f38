//! What comes before a task is completed.

use swarm_hooks::AgentHooks;
use swarm_protocol::{TaskId, TaskStatus};
use swarm_store::blocking::Team;
use swarm_store::{Actor, StoreError, TaskChange};
use tokio_util::sync::CancellationToken;

use crate::WorkMerger;
use crate::merged::require_merged;
use crate::task_hooks::completed_hooks;

/// A change that may complete a task, and who looks at it before.
#[derive(Debug, Clone, Copy)]
pub struct Completion<'a> {
    /// The team.
    pub team: &'a dyn Team,
    /// The task.
    pub id: TaskId,
    /// What shall change.
    pub change: &'a TaskChange,
    /// Who changes it.
    pub by: &'a Actor,
    /// Who merges the work of the owner, if anybody does.
    pub merger: Option<&'a dyn WorkMerger>,
}

/// A task is not completed; it stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum CompletionError {
    /// The task list says no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A hook says no.
    #[error("{0}")]
    Hook(String),
    /// Its work is not in the target.
    #[error("{0}")]
    Merge(String),
}

impl Completion<'_> {
    /// Lets hooks look at the task and merges its owner's work, in this order and only while the
    /// task may be completed. Any other change passes.
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
        // A hook may take minutes, in which others change the list.
        check()?;
        require_merged(team, &id, self.by, self.merger)
            .await
            .map_err(CompletionError::Merge)
    }
}
