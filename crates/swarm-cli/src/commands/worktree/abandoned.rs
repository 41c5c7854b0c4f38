//! Worktrees of teams that no longer exist.

use std::path::Path;

use swarm_store::{BlockOn as _, TeamStore};
use swarm_worktree::{Condition, ListedWorktree, Worktrees};

/// Returns this repository's unused worktrees whose team no longer exists; empty outside a
/// repository or without git.
pub(in crate::commands) fn abandoned(
    worktrees: &Worktrees,
    store: &dyn TeamStore,
    directory: &Path,
) -> Vec<ListedWorktree> {
    let (Ok((listed, _)), Ok(there)) = (worktrees.list(directory), store.teams().block_on()) else {
        return Vec::new();
    };
    let is_left = |listed: &ListedWorktree| {
        let team = listed.record.owner.team.as_ref();
        listed.condition != Condition::InUse && team.is_some_and(|team| !there.contains(team))
    };
    listed.into_iter().filter(is_left).collect()
}
