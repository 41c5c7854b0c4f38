//! Worktrees that nobody will come back to.

use std::path::Path;

use swarm_store::blocking::TeamStore;
use swarm_worktree::{Condition, ListedWorktree, Worktrees};

/// The worktrees of the repository around a directory whose team is gone and in which nobody works. Outside of a repository,
/// and without git, there are none.
pub(in crate::commands) fn abandoned(
    worktrees: &Worktrees,
    store: &dyn TeamStore,
    directory: &Path,
) -> Vec<ListedWorktree> {
    let (Ok((listed, _)), Ok(there)) = (worktrees.list(directory), store.teams()) else {
        return Vec::new();
    };
    let is_left = |listed: &ListedWorktree| {
        let team = listed.record.owner.team.as_ref();
        listed.condition != Condition::InUse && team.is_some_and(|team| !there.contains(team))
    };
    listed.into_iter().filter(is_left).collect()
}
