//! Merges of two commits without a checkout.

use swarm_os::InheritableLock;

use crate::git::{fields, text};
use crate::repository::Repository;
use crate::{GitError, Record, WorktreeError};

/// A merge in progress.
pub(crate) struct Merging<'a> {
    pub(crate) repository: &'a Repository,
    pub(crate) record: &'a Record,
    pub(crate) target: &'a str,
    pub(crate) lock: &'a InheritableLock,
}

pub(crate) fn not_merged(record: &Record, why: impl Into<String>) -> WorktreeError {
    WorktreeError::NotMerged {
        branch: record.branch.clone(),
        why: why.into(),
    }
}

impl Merging<'_> {
    /// Merges two commits in the object database and returns the tree. A conflict changes nothing.
    pub(crate) fn merged_tree(&self, old: &str, tip: &str) -> Result<String, WorktreeError> {
        let words = [
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
            old,
            tip,
        ];
        let at = self.repository.common_git().changing().under(self.lock);
        let (code, out, said) = at.status(&words)?;
        let mut parts = fields(&out);
        let tree = text(parts.next().unwrap_or_default());
        match code {
            Some(0) => {}
            Some(1) => {
                let mut files: Vec<_> = parts.map(text).collect();
                files.dedup();
                return Err(WorktreeError::Conflict {
                    branch: self.record.branch.clone(),
                    target: self.target.to_owned(),
                    files,
                });
            }
            code => {
                return Err(WorktreeError::Git(GitError::Failed {
                    command: words.join(" "),
                    directory: self.repository.shown(),
                    why: text(&said),
                    code,
                }));
            }
        }
        Ok(tree.trim().to_owned())
    }
}
