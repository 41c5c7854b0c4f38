//! Bringing the work of a worktree that began at uncommitted changes into its target, without those changes: they are the
//! person's, who has them still and commits them when they are ready.

use crate::git::text;
use crate::merge_tree::{Merging, not_merged};
use crate::{WorktreeError, snapshot};

/// Headers of a commit that its copy has too, see git-commit-tree(1). A signature would not fit the copy.
const KEPT: [&str; 3] = ["author ", "committer ", "encoding "];

/// The commit on top of `old` that has the work up to `tip`; `old` itself if it has that already.
pub(crate) fn copy(merging: &Merging<'_>, old: &str, tip: &str) -> Result<String, WorktreeError> {
    let record = merging.record;
    let at = merging.repository.common_git();
    // What the target had and has no longer is brought anew.
    let begin = match (&record.taken, &record.taken_as) {
        (Some(taken), Some(with))
            if at.status(&["merge-base", "--is-ancestor", with, old])?.0 == Some(0) =>
        {
            taken
        }
        _ => &record.base.sha,
    };
    if !at.asks(&["merge-base", "--is-ancestor", begin, tip])? {
        let why = "its branch was moved off the uncommitted changes at which it began, so they cannot be told from its work; \
                   merge it by hand";
        return Err(not_merged(record, why));
    }
    let range = format!("{begin}..{tip}");
    let merges = at.line(&["rev-list", "--count", "--merges", &range])?;
    if merges == "0" {
        let listed = at.line(&["rev-list", "--reverse", &range])?;
        match one_by_one(merging, old, begin, &listed) {
            // Later commits may have mended what an earlier one breaks.
            Err(WorktreeError::Conflict { .. }) => {}
            copied => return copied,
        }
    }
    at_once(merging, old, begin, tip)
}

/// Copies commits that follow one another.
fn one_by_one(
    merging: &Merging<'_>,
    old: &str,
    begin: &str,
    listed: &str,
) -> Result<String, WorktreeError> {
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

/// Makes one commit of all the work.
fn at_once(
    merging: &Merging<'_>,
    old: &str,
    begin: &str,
    tip: &str,
) -> Result<String, WorktreeError> {
    let tree = applied(merging, old, begin, tip)?;
    if tree == tree_of(merging, old)? {
        return Ok(old.to_owned());
    }
    let message = format!(
        "Bring the work of {} into {}",
        merging.record.branch, merging.target
    );
    Ok(snapshot::commit(
        merging.repository,
        &tree,
        &[old],
        &message,
    )?)
}

/// The files of `head` with the changes from `before` to `commit`.
fn applied(
    merging: &Merging<'_>,
    head: &str,
    before: &str,
    commit: &str,
) -> Result<String, WorktreeError> {
    // The same files as a commit that follows `before`, which makes that the base of the merge.
    let tree = tree_of(merging, head)?;
    let beside = snapshot::commit(merging.repository, &tree, &[before], "swarm")?;
    merging.merged_tree(&beside, commit)
}

fn tree_of(merging: &Merging<'_>, commit: &str) -> Result<String, WorktreeError> {
    let name = format!("{commit}^{{tree}}");
    let at = merging.repository.common_git();
    Ok(at.line(&["rev-parse", "--verify", &name])?)
}

/// A commit with the author, the times and the message of another.
fn commit_like(
    merging: &Merging<'_>,
    other: &str,
    tree: &str,
    parent: &str,
) -> Result<String, WorktreeError> {
    let raw = merging
        .repository
        .common_git()
        .run(&["cat-file", "commit", other])?;
    let end = raw.windows(2).position(|pair| pair == b"\n\n");
    let (head, message) = raw.split_at(end.map_or(raw.len(), |end| end + 1));
    let mut made = format!("tree {tree}\nparent {parent}\n").into_bytes();
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        if KEPT.iter().any(|kept| text(line).starts_with(kept)) {
            made.extend_from_slice(line);
        }
    }
    made.extend_from_slice(message);
    let at = merging.repository.common_git().changing().reading(&made);
    Ok(at.line(&["hash-object", "-t", "commit", "-w", "--stdin"])?)
}
