//! The repository of an order.

use std::path::Path;

use swarm_protocol::Repository;
use swarm_worktree::{GitError, Worktrees};

/// Returns the repository of a directory at the commit that is checked out; `None` outside of
/// repositories and before the first commit.
///
/// # Errors
/// If git cannot be run.
pub fn repository_at(
    worktrees: &Worktrees,
    directory: &Path,
) -> Result<Option<Repository>, GitError> {
    let found = worktrees.checked_out(directory)?;
    Ok(found.map(|found| Repository {
        root: found.root,
        base: found.commit,
        branch: None,
        remote: None,
        bundle: None,
    }))
}
