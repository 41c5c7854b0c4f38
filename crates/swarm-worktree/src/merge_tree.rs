//! Merges of two commits without a checkout.

use swarm_os::InheritableLock;
use swarm_protocol::word_list;

use crate::git::{Call, fields, text};
use crate::repository::Repository;
use crate::{ConflictSides, GitError, Record, Result, WorktreeError};

pub(crate) struct Merging<'a> {
    pub(crate) repository: &'a Repository,
    pub(crate) record: &'a Record,
    pub(crate) target: &'a str,
    pub(crate) lock: &'a InheritableLock,
}

impl Merging<'_> {
    /// Merges two commits in the object database and returns the tree. A conflict changes nothing.
    pub(crate) fn merged_tree(&self, old: &str, tip: &str) -> Result<String> {
        let at = self.repository.common_git().changing().under(self.lock);
        match merge_trees(&at, old, tip)? {
            MergedTree::Clean(tree) => Ok(tree),
            MergedTree::Conflict(files) => Err(self.conflict(files)?),
        }
    }

    /// Describes a conflict with the last commits on both sides that changed its files.
    fn conflict(&self, files: Vec<String>) -> Result<WorktreeError, GitError> {
        let (ours, theirs) = (&self.record.branch, self.target);
        let commits = |range: String| -> Result<Vec<String>, GitError> {
            let mut words = vec!["log", "--no-merges", "--max-count=3", "--format=%h %s"];
            words.extend([&range, "--"]);
            let literal: Vec<_> = files
                .iter()
                .map(|file| format!(":(top,literal){file}"))
                .collect();
            words.extend(literal.iter().map(String::as_str));
            let listed = self.repository.common_git().line(&words)?;
            Ok(listed.lines().map(str::to_owned).collect())
        };
        let (own, target) = (self.record.branch_ref(), format!("refs/heads/{theirs}"));
        let sides = ConflictSides {
            ours: commits(format!("{target}..{own}"))?,
            theirs: commits(format!("{own}..{target}"))?,
        };
        Ok(WorktreeError::Conflict {
            sides: Box::new(sides),
            branch: ours.clone(),
            target: theirs.to_owned(),
            files,
        })
    }
}

/// Result of a merge without a checkout.
pub(crate) enum MergedTree {
    /// The id of the tree.
    Clean(String),
    /// The conflicting files.
    Conflict(Vec<String>),
}

/// Merges two commits in the object database. No ref changes.
pub(crate) fn merge_trees(at: &Call<'_>, one: &str, other: &str) -> Result<MergedTree, GitError> {
    let words = const { word_list::<5>("merge-tree --write-tree -z --name-only --no-messages") };
    let words = [&words[..], &[one, other]].concat();
    let (code, out, said) = at.status(&words)?;
    let mut parts = fields(&out);
    let tree = text(parts.next().unwrap_or_default());
    match code {
        Some(0) => Ok(MergedTree::Clean(tree.trim().to_owned())),
        Some(1) => {
            let mut files: Vec<_> = parts.map(text).collect();
            files.dedup();
            Ok(MergedTree::Conflict(files))
        }
        code => Err(at.failed(&words, code, &said)),
    }
}
