//! Worktree flags.

use swarm_supervisor::WorktreeWish;
use swarm_worktree::{Slug, Uncommitted};

use crate::failure::Result;

/// Parses a worktree name. The value of `--worktree` is optional, so a prompt after it would be
/// taken for the name; such values are rejected.
pub(in crate::commands) fn no_prompt(name: &str) -> Result<String, String> {
    if name.trim().contains(char::is_whitespace) {
        return Err(
            "a worktree name cannot contain spaces; put the prompt before --worktree".to_owned(),
        );
    }
    Ok(name.to_owned())
}

/// Returns the worktree requested by `--worktree [SLUG]` and `--snapshot`; an empty name selects
/// the default.
pub(in crate::commands) fn wish(
    worktree: Option<&str>,
    snapshot: bool,
) -> Result<Option<WorktreeWish>> {
    let Some(name) = worktree else {
        return Ok(None);
    };
    let slug = (!name.is_empty()).then(|| Slug::parse(name)).transpose()?;
    Ok(Some(WorktreeWish {
        slug,
        uncommitted: snapshot.then_some(Uncommitted::Snapshot),
    }))
}
