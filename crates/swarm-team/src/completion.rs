//! What precedes the completion of a task: hooks, its checks, and merging.

use std::time::Duration;

use swarm_hooks::AgentHooks;
use swarm_protocol::{CheckRun, Clock, TaskId, TaskStatus};
use swarm_store::{Actor, StoreError, TaskChange, Team};
use swarm_tools::ToolContext;
use tokio_util::sync::CancellationToken;

use crate::merged::{OwnerWork, shell_in_merge};
use crate::task_checks::{CheckPlace, passed_checks};
use crate::task_hooks::completed_hooks;
use crate::{CompletionError, MergeError, MergeRetries, MergeRetry, WorkMerger};

/// Time after which a wait for uncommitted changes is reported.
const REPORT_AFTER: Duration = Duration::from_secs(1);

/// Displays what the completion of a task waits for.
pub type CompletionProgress<'a> = dyn Fn(&str) + Send + Sync + 'a;

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
    /// Waits while the checkout of the target has uncommitted changes, and reports this to
    /// `progress` and the lead. Returns the runs of the checks for the change.
    ///
    /// # Errors
    /// [`CompletionError`]. The target is then unchanged.
    pub async fn clear(
        self,
        hooks: &AgentHooks,
        cancel: &CancellationToken,
        progress: &CompletionProgress<'_>,
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
            return self.check_and_merge(merger, &work, cancel, progress).await;
        }
        self.check(self.shell, CheckPlace::Owner).await
    }

    /// Requires that the task can be completed, except that its checks have not passed.
    async fn require_permitted(&self) -> Result<(), StoreError> {
        let checked = self.team.check_update(&self.id, self.change, self.by);
        match checked.await {
            // The last of the rules; the checks run separately.
            Err(StoreError::Unchecked(_)) => Ok(()),
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

    /// Checks and merges the work, again if the target moves in the meantime or its checkout has
    /// uncommitted changes.
    async fn check_and_merge(
        &self,
        merger: &dyn WorkMerger,
        work: &OwnerWork,
        cancel: &CancellationToken,
        progress: &CompletionProgress<'_>,
    ) -> Result<Vec<CheckRun>, CompletionError> {
        let mut retries = MergeRetries::new(merger.wait_limit());
        loop {
            let error = match self.try_merge(merger, work, cancel).await {
                Ok(runs) => return Ok(runs),
                Err(CompletionFailure::Other(error)) => return Err(error),
                Err(CompletionFailure::Merge(error)) => error,
            };
            let error = match retries.after(&error) {
                Some(MergeRetry::Immediate) => continue,
                Some(MergeRetry::AfterWait { awaited, within }) => {
                    let waiting = merger.wait_for_target(&work.worktree, within, cancel);
                    match self.wait(waiting, work, awaited, progress).await {
                        Ok(()) => continue,
                        Err(still) => still,
                    }
                }
                None => error,
            };
            let why = work.refused(self.team, self.by, &error).await;
            return Err(CompletionError::Merge(why));
        }
    }

    /// Waits for uncommitted changes in the checkout of the target. Tells so after a moment.
    async fn wait(
        &self,
        waiting: impl Future<Output = Result<(), MergeError>>,
        work: &OwnerWork,
        awaited: &str,
        progress: &CompletionProgress<'_>,
    ) -> Result<(), MergeError> {
        tokio::pin!(waiting);
        tokio::select! {
            done = &mut waiting => return done,
            () = tokio::time::sleep(REPORT_AFTER) => {}
        }
        progress(&format!("the merge waits for {awaited}"));
        work.tell_lead_of_wait(self.team, self.by, awaited).await;
        waiting.await?;
        progress("checking and merging");
        Ok(())
    }

    async fn try_merge(
        &self,
        merger: &dyn WorkMerger,
        work: &OwnerWork,
        cancel: &CancellationToken,
    ) -> Result<Vec<CheckRun>, CompletionFailure> {
        let Some(mut merge) = merger.prepare(&work.worktree, self.id, cancel).await? else {
            return Ok(self.check(self.shell, CheckPlace::Owner).await?);
        };
        let task = self
            .team
            .task(&self.id)
            .await
            .map_err(CompletionError::from)?;
        let has_checks = !task.checks().is_empty();
        let (shell, place) = match self.shell.filter(|_| has_checks) {
            Some(shell) => {
                let files = merge.check_out().await?;
                let place = if files == work.worktree {
                    CheckPlace::Owner
                } else {
                    CheckPlace::Merge
                };
                (Some(shell_in_merge(shell, &work.worktree, &files)), place)
            }
            None => (None, CheckPlace::Merge),
        };
        let runs = self.check(shell.as_ref(), place).await?;
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
