//! Merges the work of members.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use swarm_os::LockInterrupt;
use swarm_team::{MergeError, PreparedMerge, WorkMerger};
use swarm_worktree::{MergeCandidate, MergeMode, WorktreeError, Worktrees};
use tokio_util::sync::CancellationToken;

use crate::spawn::blocking;

/// Merges the branches of worktrees with git, or leaves that to a person if configured.
#[derive(Debug, Clone)]
pub struct WorktreeMerger(pub Worktrees);

#[async_trait]
impl WorkMerger for WorktreeMerger {
    async fn prepare(
        &self,
        worktree: &Path,
        cancel: &CancellationToken,
    ) -> Result<Option<Box<dyn PreparedMerge>>, MergeError> {
        if self.0.settings().merge == MergeMode::Manual {
            return Ok(None);
        }
        let (worktrees, path) = (self.0.clone(), worktree.to_owned());
        let record = blocking(move || worktrees.find(&path)).await;
        let record = record.map_err(|error| refused(&error))?.ok_or_else(|| {
            MergeError::Refused(format!(
                "{} is no longer a swarm worktree, so its work cannot be located; tell the team lead",
                worktree.display()
            ))
        })?;
        // A worktree of a hook is not managed by git, so its branch cannot be merged.
        if record.by_hook {
            return Ok(None);
        }
        let (worktrees, interrupt) = (self.0.clone(), LockInterrupt::default());
        let interrupted = interrupt.clone();
        let mut prepared = Box::pin(blocking(move || {
            worktrees.merge_candidate(&record.from, &record.slug, &interrupt)
        }));
        let prepared = tokio::select! {
            prepared = &mut prepared => prepared,
            () = cancel.cancelled() => {
                interrupted.interrupt();
                prepared.await
            }
        };
        let candidate = prepared.map_err(|error| refused(&error))?;
        Ok(Some(Box::new(QueuedMerge(Some(candidate)))))
    }
}

/// The candidate is moved to a blocking thread during its operations, and stays there if one of
/// them is abandoned.
struct QueuedMerge(Option<MergeCandidate>);

impl QueuedMerge {
    fn take(&mut self) -> Result<MergeCandidate, MergeError> {
        let lost = || MergeError::Refused("the merge was interrupted; try again".to_owned());
        self.0.take().ok_or_else(lost)
    }
}

#[async_trait]
impl PreparedMerge for QueuedMerge {
    async fn check_out(&mut self) -> Result<PathBuf, MergeError> {
        let mut candidate = self.take()?;
        let checked_out = blocking(move || {
            let files = candidate.check_out()?;
            Ok((candidate, files))
        });
        let (candidate, files) = checked_out.await.map_err(|error| refused(&error))?;
        self.0 = Some(candidate);
        Ok(files)
    }

    async fn apply(mut self: Box<Self>) -> Result<(), MergeError> {
        let candidate = self.take()?;
        let applied = blocking(move || candidate.apply()).await;
        let merged = applied.map_err(|error| refused(&error))?;
        let (branch, target) = (merged.branch, merged.target);
        tracing::info!(%branch, %target, outcome = merged.outcome.name(), "merged");
        Ok(())
    }
}

fn refused(error: &WorktreeError) -> MergeError {
    let why = error.to_string();
    match error {
        WorktreeError::TargetMoved { .. } => MergeError::TargetMoved(why),
        WorktreeError::TargetChanged { .. } => MergeError::TargetChanged(why),
        _ => MergeError::Refused(why),
    }
}
