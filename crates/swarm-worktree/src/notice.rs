//! What an agent is told whose files are in a worktree.

use std::path::Path;

/// What a fork is told that works in a worktree while its conversation speaks of another folder.
pub fn moved_notice(from: &Path, to: &Path) -> String {
    format!(
        "You work in a git worktree of your own: {to}. What was said so far speaks of {from}. The same files stand at the \
         same places below your folder, so translate such paths before you use them. Read a file again before you edit \
         it: it may differ from what was read there. What you change stays in your worktree and touches nothing in {from}.",
        to = to.display(),
        from = from.display(),
    )
}
