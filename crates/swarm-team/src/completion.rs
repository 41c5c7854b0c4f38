//! What precedes the completion of a task: hooks, its checks, and merging.

use swarm_hooks::AgentHooks;
use swarm_protocol::{CheckRun, Clock, TaskId, TaskStatus};
use swarm_store::{Actor, StoreError, TaskChange, Team};
use swarm_tools::ToolContext;
use tokio_util::sync::CancellationToken;

use crate::merged::require_merged;
use crate::task_checks::passed_checks;
use crate::task_hooks::completed_hooks;
use crate::{CompletionError, WorkMerger};

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
    /// Runs the task's checks: the shell of its owner.
    pub shell: Option<&'a ToolContext>,
    /// Clock for their records.
    pub clock: &'a dyn Clock,
}

impl Completion<'_> {
    /// Runs the hooks and the checks and then merges the owner's work, if the change completes the
    /// task and the task can be completed. Other changes pass. Returns the runs of the checks for
    /// the change.
    ///
    /// # Errors
    /// [`CompletionError`].
    pub async fn clear(
        self,
        hooks: &AgentHooks,
        cancel: &CancellationToken,
    ) -> Result<Vec<CheckRun>, CompletionError> {
        if self.change.status != Some(TaskStatus::Completed) {
            return Ok(Vec::new());
        }
        let Self { team, id, .. } = self;
        let check = async || match team.check_update(&id, self.change, self.by).await {
            // The last of the rules; the checks run below.
            Err(StoreError::Unchecked { .. }) => Ok(()),
            checked => checked,
        };
        check().await?;
        completed_hooks(team, &id, hooks, cancel)
            .await
            .map_err(CompletionError::Hook)?;
        let now = || self.clock.now();
        let runs = passed_checks(team, &id, self.by, self.shell, now).await?;
        // Hooks and checks may take minutes, during which the list may change.
        check().await?;
        require_merged(team, &id, self.by, self.merger)
            .await
            .map_err(CompletionError::Merge)?;
        Ok(runs)
    }
}
