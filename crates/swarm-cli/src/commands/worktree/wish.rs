//! What flags say of a work tree.

use swarm_supervisor::WorktreeWish;
use swarm_worktree::{Slug, Uncommitted};

use crate::failure::Failure;

/// The work tree that `--worktree [SLUG]` and `--snapshot` ask for; an empty name is the default one.
pub(in crate::commands) fn wish(
    worktree: Option<&str>,
    snapshot: bool,
) -> Result<Option<WorktreeWish>, Failure> {
    let Some(name) = worktree else {
        return Ok(None);
    };
    let slug = (!name.is_empty()).then(|| Slug::parse(name)).transpose()?;
    Ok(Some(WorktreeWish {
        slug,
        uncommitted: snapshot.then_some(Uncommitted::Snapshot),
    }))
}
