//! What precedes the completion of a task: hooks, its checks, and merging.

use swarm_hooks::AgentHooks;
use swarm_protocol::{CheckRun, Clock, TaskId, TaskStatus};
use swarm_store::{Actor, StoreError, TaskChange, Team};
use swarm_tools::ToolContext;
use tokio_util::sync::CancellationToken;

use crate::merged::{OwnerWork, shell_in_merge};
use crate::task_checks::{CheckPlace, passed_checks};
use crate::task_hooks::completed_hooks;
use crate::{CompletionError, MergeError, WorkMerger};

/// Attempts to merge while other programs move the target.
const MERGE_ATTEMPTS: u32 = 3;

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
    /// Runs the hooks, prepares the merge of the owner's work, runs the checks on its result and
    /// merges, if the change completes the task and the task can be completed. Other changes pass.
    /// Returns the runs of the checks for the change.
    ///
    /// # Errors
    /// [`CompletionError`]. The target is then unchanged.
    pub async fn clear(
        self,
        hooks: &AgentHooks,
        cancel: &CancellationToken,
    ) -> Result<Vec<CheckRun>, CompletionError> {
        if self.change.status != Some(TaskStatus::Completed) {
            return Ok(Vec::new());
        }
        self.require_permitted().await?;
        completed_hooks(self.team, &self.id, hooks, cancel)
            .await
            .map_err(CompletionError::Hook)?;
        if let Some(merger) = self.merger
            && let Some(work) = OwnerWork::of(self.team, &self.id, self.by).await?
        {
            return self.check_and_merge(merger, &work, cancel).await;
        }
        self.check(self.shell, CheckPlace::Owner).await
    }

    /// Requires that the task can be completed, except that its checks have not passed.
    async fn require_permitted(&self) -> Result<(), StoreError> {
        let checked = self.team.check_update(&self.id, self.change, self.by);
        match checked.await {
            // The last of the rules; the checks run separately.
            Err(StoreError::Unchecked { .. }) => Ok(()),
            checked => checked,
        }
    }

    async fn check(
        &self,
        shell: Option<&ToolContext>,
        place: CheckPlace,
    ) -> Result<Vec<CheckRun>, CompletionError> {
        let now = || self.clock.now();
        let runs = passed_checks(self.team, &self.id, self.by, (shell, place), now).await?;
        // Hooks and checks may take minutes, during which the list may change.
        self.require_permitted().await?;
        Ok(runs)
    }

    /// Checks and merges the work, again if the target moves in the meantime.
    async fn check_and_merge(
        &self,
        merger: &dyn WorkMerger,
        work: &OwnerWork,
        cancel: &CancellationToken,
    ) -> Result<Vec<CheckRun>, CompletionError> {
        let mut attempt = 1;
        loop {
            match self.try_merge(merger, work, cancel).await {
                Err(CompletionFailure::Merge(MergeError::TargetMoved(_)))
                    if attempt < MERGE_ATTEMPTS =>
                {
                    attempt += 1;
                }
                Err(CompletionFailure::Merge(error)) => {
                    let why = work.refused(self.team, self.by, &error).await;
                    return Err(CompletionError::Merge(why));
                }
                Err(CompletionFailure::Other(error)) => return Err(error),
                Ok(runs) => return Ok(runs),
            }
        }
    }

    async fn try_merge(
        &self,
        merger: &dyn WorkMerger,
        work: &OwnerWork,
        cancel: &CancellationToken,
    ) -> Result<Vec<CheckRun>, CompletionFailure> {
        let Some(mut merge) = merger.prepare(&work.worktree, cancel).await? else {
            return Ok(self.check(self.shell, CheckPlace::Owner).await?);
        };
        let task = self
            .team
            .task(&self.id)
            .await
            .map_err(CompletionError::from)?;
        let has_checks = !task.swarm().checks.is_empty();
        let shell = match self.shell.filter(|_| has_checks) {
            Some(shell) => {
                let files = merge.check_out().await?;
                Some(shell_in_merge(shell, &work.worktree, &files))
            }
            None => None,
        };
        let runs = self.check(shell.as_ref(), CheckPlace::Merge).await?;
        merge.apply().await?;
        Ok(runs)
    }
}

/// Why an attempt to merge failed.
enum CompletionFailure {
    Merge(MergeError),
    Other(CompletionError),
}

impl From<MergeError> for CompletionFailure {
    fn from(error: MergeError) -> Self {
        Self::Merge(error)
    }
}

impl From<CompletionError> for CompletionFailure {
    fn from(error: CompletionError) -> Self {
        Self::Other(error)
    }
}
