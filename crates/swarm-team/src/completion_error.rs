//! Why a task cannot be completed.

use swarm_store::StoreError;

/// The task cannot be completed. It is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum CompletionError {
    /// Rejected by the task list.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Rejected by a hook.
    #[error("{0}")]
    Hook(String),
    /// A check did not pass.
    #[error("{0}")]
    Check(String),
    /// The work is not merged into the target.
    #[error("{0}")]
    Merge(String),
}
