//! What completing a task needs from the merge queue of a repository.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use swarm_protocol::TaskId;
use tokio_util::sync::CancellationToken;

/// Merges the work in a worktree into its target.
#[async_trait]
pub trait WorkMerger: Send + Sync + fmt::Debug {
    /// Waits for other merges of the repository, and prepares that of a worktree for a task. Returns
    /// `None` if its commits need not be merged.
    async fn prepare(
        &self,
        worktree: &Path,
        task: TaskId,
        cancel: &CancellationToken,
    ) -> Result<Option<Box<dyn PreparedMerge>>, MergeError>;

    /// Makes the work in a worktree available to other machines, if one of them merges it.
    async fn publish(&self, _worktree: &Path) -> Result<(), MergeError> {
        Ok(())
    }

    /// Returns how long merges wait for uncommitted changes.
    fn wait_limit(&self) -> Duration;

    /// Waits until the checkout of a worktree's target has no uncommitted changes, for which its
    /// merge was refused, for at most `within`.
    ///
    /// # Errors
    /// [`MergeError::TargetChanged`] if it still has some after that time, or when `cancel` fires.
    async fn wait_for_target(
        &self,
        worktree: &Path,
        within: Duration,
        cancel: &CancellationToken,
    ) -> Result<(), MergeError>;
}

/// A merge that is not in the target yet. Other merges of the repository wait until it is dropped.
#[async_trait]
pub trait PreparedMerge: Send {
    /// Returns a directory with the files of the merge: the worktree itself if they are the same.
    async fn check_out(&mut self) -> Result<PathBuf, MergeError>;

    /// Moves the target to the merge.
    async fn apply(self: Box<Self>) -> Result<(), MergeError>;
}

/// Why work is not in its target, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The target moved since the merge was prepared.
    #[error("{0}")]
    TargetMoved(String),
    /// The checkout of the target has uncommitted changes, which its owner cannot resolve.
    #[error("{why}")]
    TargetChanged {
        /// The changes, as the object of a sentence.
        awaited: String,
        /// Why the work is not merged, and what to do.
        why: String,
    },
    /// Anything else, such as a conflict.
    #[error("{0}")]
    Refused(String),
}
