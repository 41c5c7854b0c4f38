//! The work in a worktree as a diff.

use std::path::Path;

use swarm_protocol::word_list;

use crate::git::text;
use crate::repository::Repository;
use crate::{Record, Result, Slug, WorktreeError, Worktrees, snapshot};

/// The command of the diff. Names with letters beyond ASCII are readable.
const DIFF: [&str; 9] = word_list(
    "-c core.quotePath=false diff --no-color --no-ext-diff --no-textconv --src-prefix=a/
    --dst-prefix=b/ --find-renames",
);

/// The work in a worktree that its target does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeDiff {
    /// The record of the worktree.
    pub record: Record,
    /// The commit with which it is compared.
    pub base: String,
    /// A unified diff of committed and uncommitted changes, including untracked files. Text of
    /// agents: it may contain control characters.
    pub diff: String,
}

impl Worktrees {
    /// Returns the work in a worktree compared with the last commit that its target and its branch
    /// share.
    ///
    /// # Errors
    /// [`WorktreeError`] if it does not exist, does not match its record, or git fails.
    pub fn diff(&self, directory: &Path, slug: &Slug) -> Result<WorktreeDiff> {
        let repository = Repository::find(self.git(), self.registry(), directory)?;
        let found = Record::find(&repository, slug)?;
        let record = found.ok_or_else(|| WorktreeError::not_found(slug, repository.shown()))?;
        let tip = repository.tip(&record)?;
        let tip = tip.unwrap_or_else(|| record.base.sha.clone());
        let base = base(&repository, &record, &tip)?;
        let work = match record.path_here() {
            Some(path) if path.is_dir() => snapshot::tree(&repository, path, &[])?,
            _ => tip,
        };
        let words = [&DIFF[..], &[&base, &work]].concat();
        let diff = repository.common_git().run(&words)?;
        Ok(WorktreeDiff {
            record,
            base,
            diff: text(&diff),
        })
    }
}

fn base(repository: &Repository, record: &Record, tip: &str) -> Result<String> {
    let own = || record.base.sha.clone();
    // Uncommitted changes that it was created from are not its work.
    if record.base.snapshot_of.is_some() {
        return Ok(own());
    }
    let Some(target) = &record.target else {
        return Ok(own());
    };
    let target = format!("refs/heads/{target}");
    let words = ["merge-base", &target, tip];
    match repository.common_git().status(&words)? {
        (Some(0), out, _) => Ok(text(&out).trim().to_owned()),
        // The target was deleted, or its history was replaced.
        _ => Ok(own()),
    }
}
