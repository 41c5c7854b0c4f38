//! What flags say of a worktree.

use swarm_supervisor::WorktreeWish;
use swarm_worktree::{Slug, Uncommitted};

use crate::failure::Failure;

/// The name of a worktree, of which the option may do without: so it takes what stands behind it, and a prompt that does
/// would be missed under another name.
pub(in crate::commands) fn no_prompt(name: &str) -> Result<String, String> {
    if name.trim().contains(char::is_whitespace) {
        return Err("a worktree name cannot contain spaces; put the prompt before --worktree".to_owned());
    }
    Ok(name.to_owned())
}

/// The worktree that `--worktree [SLUG]` and `--snapshot` ask for; an empty name is the default one.
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
