//! Copies the commits of a worktree that is based on uncommitted changes to its target, without
//! those changes. The user still has them and commits them when they are ready.

use crate::git::text;
use crate::merge_tree::Merging;
use crate::{Result, WorktreeError, snapshot};

/// Headers of a commit that are copied, see git-commit-tree(1). A signature would not match the
/// copy.
const COPIED_HEADERS: [&str; 3] = ["author ", "committer ", "encoding "];

/// Returns a commit on top of `old` with the changes up to `tip`, or `old` itself if it already has
/// them.
pub(crate) fn copy(merging: &Merging<'_>, old: &str, tip: &str) -> Result<String> {
    let record = merging.record;
    let at = merging.repository.common_git();
    // Commits that were removed from the target are copied again.
    let begin = match (&record.taken, &record.taken_as) {
        (Some(taken), Some(with))
            if at.status(&["merge-base", "--is-ancestor", with, old])?.0 == Some(0) =>
        {
            taken
        }
        _ => &record.base.sha,
    };
    if !at.succeeds(&["merge-base", "--is-ancestor", begin, tip])? {
        let why = "its branch no longer contains the uncommitted changes that it was based on, so they cannot be separated from \
 its work; merge it manually";
        return Err(WorktreeError::not_merged(&record.branch, why));
    }
    let range = format!("{begin}..{tip}");
    let merges = at.line(&["rev-list", "--count", "--merges", &range])?;
    if merges == "0" {
        let listed = at.line(&["rev-list", "--reverse", &range])?;
        match copy_each(merging, old, begin, &listed) {
            // A later commit may resolve the conflict of an earlier one.
            Err(WorktreeError::Conflict { .. }) => {}
            copied => return copied,
        }
    }
    copy_squashed(merging, old, begin, tip)
}

/// Copies a sequence of commits.
fn copy_each(merging: &Merging<'_>, old: &str, begin: &str, listed: &str) -> Result<String> {
    let (mut head, mut before) = (old.to_owned(), begin);
    for commit in listed.lines() {
        let tree = applied(merging, &head, before, commit)?;
        before = commit;
        if tree != tree_of(merging, &head)? {
            head = commit_like(merging, commit, &tree, &head)?;
        }
    }
    Ok(head)
}

/// Creates a single commit with all changes.
fn copy_squashed(merging: &Merging<'_>, old: &str, begin: &str, tip: &str) -> Result<String> {
    let tree = applied(merging, old, begin, tip)?;
    if tree == tree_of(merging, old)? {
        return Ok(old.to_owned());
    }
    let message = format!(
        "Copy the work of {} to {}",
        merging.record.branch, merging.target
    );
    Ok(snapshot::commit(
        merging.repository,
        &tree,
        &[old],
        &message,
    )?)
}

/// Returns the tree of `head` with the changes from `before` to `commit`.
fn applied(merging: &Merging<'_>, head: &str, before: &str, commit: &str) -> Result<String> {
    // A commit with the same files and the parent `before`, which becomes the merge base.
    let tree = tree_of(merging, head)?;
    let sibling = snapshot::commit(merging.repository, &tree, &[before], "swarm")?;
    merging.merged_tree(&sibling, commit)
}

fn tree_of(merging: &Merging<'_>, commit: &str) -> Result<String> {
    let name = format!("{commit}^{{tree}}");
    let at = merging.repository.common_git();
    Ok(at.line(&["rev-parse", "--verify", &name])?)
}

/// Creates a commit with the author, dates and message of another commit.
fn commit_like(merging: &Merging<'_>, other: &str, tree: &str, parent: &str) -> Result<String> {
    let raw = merging
        .repository
        .common_git()
        .run(&["cat-file", "commit", other])?;
    let end = raw.windows(2).position(|pair| pair == b"\n\n");
    let (head, message) = raw.split_at(end.map_or(raw.len(), |end| end + 1));
    let mut content = format!("tree {tree}\nparent {parent}\n").into_bytes();
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        if COPIED_HEADERS
            .iter()
            .any(|kept| text(line).starts_with(kept))
        {
            content.extend_from_slice(line);
        }
    }
    content.extend_from_slice(message);
    let at = merging.repository.common_git().changing().reading(&content);
    Ok(at.line(&["hash-object", "-t", "commit", "-w", "--stdin"])?)
}
