//! Merges of a worktree's branch into its target branch.

use swarm_protocol::{named_enum, word_list};

use crate::copy::copy;
use crate::merge_tree::Merging;
use crate::registration::check;
use crate::repository::Repository;
use crate::target::clean_checkout;
use crate::view::Checkout;
use crate::{GitError, Record, Result, WorktreeError, fetched, snapshot};

named_enum! {
    /// Result of a merge.
    pub enum MergeOutcome {
        /// The target already had all commits.
        AlreadyThere = "already-there",
        /// The target was fast-forwarded.
        FastForward = "fast-forward",
        /// A merge commit was created.
        MergeCommit = "merge-commit",
        /// The commits were copied, without the uncommitted changes that the worktree is based on.
        Copied = "copied",
    }
}

/// A completed merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The branch of the worktree.
    pub branch: String,
    /// The target branch.
    pub target: String,
    /// The new commit of the target.
    pub head: String,
    /// The kind of merge.
    pub outcome: MergeOutcome,
}

/// Work that was copied to the target as other commits.
#[derive(Debug)]
pub(crate) struct Copied {
    /// The last commit of the worktree's branch that was copied.
    taken: String,
    /// The commit of the target that contains it.
    taken_as: String,
}

impl Copied {
    /// Records the copy. The merge is complete even if this fails; the work then counts as unmerged
    /// until the next merge.
    pub(crate) fn record_in(self, repository: &Repository, record: &Record) {
        let note = |record: &mut Record| {
            record.taken = Some(self.taken);
            record.taken_as = Some(self.taken_as);
        };
        let slug = &record.slug;
        let written = if record.remote.is_some() {
            fetched::change(repository, record, note)
        } else {
            let changed = Record::change(repository, slug, |record| {
                note(record);
                true
            });
            changed.map(drop)
        };
        if let Err(error) = written {
            tracing::warn!(%slug, %error, "could not record a merge");
        }
    }
}

/// The commits of a merge that is not in the target yet.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The commit of the worktree's branch.
    pub(crate) tip: String,
    /// The commit of the target before the merge.
    pub(crate) old: String,
    /// The commit of the target after the merge.
    pub(crate) new: String,
    pub(crate) outcome: MergeOutcome,
    /// The copy to record, once the target is moved.
    pub(crate) copied: Option<Copied>,
}

impl Merging<'_> {
    /// Creates the commits of the merge in the object database. Conflicts are found here, and the
    /// target is not changed.
    pub(crate) fn prepare(&self) -> Result<Prepared> {
        self.refuse_uncommitted()?;
        let tip = self.repository.tip(self.record)?;
        let tip = tip.ok_or_else(|| self.no_branch(&self.record.branch))?;
        let old = self.target_tip()?;
        let is_ancestor = |one: &str, other: &str| {
            let at = self.repository.common_git();
            at.succeeds(&["merge-base", "--is-ancestor", one, other])
        };
        let mut copied = None;
        let base = &self.record.base;
        let (new, outcome) = if is_ancestor(&tip, &old)? {
            (old.clone(), MergeOutcome::AlreadyThere)
        } else if base.snapshot_of.is_some() && !is_ancestor(&base.sha, &old)? {
            let new = copy(self, &old, &tip)?;
            copied = Some(Copied {
                taken: tip.clone(),
                taken_as: new.clone(),
            });
            let outcome = if new == old {
                MergeOutcome::AlreadyThere
            } else {
                MergeOutcome::Copied
            };
            (new, outcome)
        } else if is_ancestor(&old, &tip)? {
            (tip.clone(), MergeOutcome::FastForward)
        } else {
            (self.merge_commit(&old, &tip)?, MergeOutcome::MergeCommit)
        };
        if new != old {
            clean_checkout(self.repository, self.record, self.target)?;
        }
        Ok(Prepared {
            tip,
            old,
            new,
            outcome,
            copied,
        })
    }

    fn target_tip(&self) -> Result<String> {
        let tip = self
            .repository
            .commit_of(&format!("refs/heads/{}", self.target))?;
        tip.ok_or_else(|| self.no_branch(self.target))
    }

    fn no_branch(&self, branch: &str) -> WorktreeError {
        let gone = if self.record.remote.is_some() {
            "does not exist here"
        } else {
            "no longer exists"
        };
        WorktreeError::not_merged(&self.record.branch, format!("the branch {branch} {gone}"))
    }

    /// Refuses uncommitted changes of the worktree, which would be missing in the merge. Those on
    /// another machine are not lost: its member is still to commit them, or they stay there.
    fn refuse_uncommitted(&self) -> Result<()> {
        let path = self.record.path_here();
        let Some(path) = path.filter(|path| path.symlink_metadata().is_ok()) else {
            return Ok(());
        };
        let seen = check(self.repository, self.record)?;
        if seen.branch.as_ref() != Some(&self.record.branch) {
            let on = seen.branch.as_deref().unwrap_or("no branch");
            let why = format!(
                "its worktree is on {on}; check out {} there",
                self.record.branch
            );
            return Err(WorktreeError::not_merged(&self.record.branch, why));
        }
        let mut files =
            Checkout::at(self.repository, path)?.changed_files("--untracked-files=normal")?;
        files.retain(|file| !self.record.carries(file.as_ref()));
        if files.is_empty() {
            return Ok(());
        }
        let why = format!(
            "its worktree has uncommitted changes: {}; commit or discard them",
            crate::hazard::named(&files)
        );
        Err(WorktreeError::not_merged(&self.record.branch, why))
    }

    fn merge_commit(&self, old: &str, tip: &str) -> Result<String> {
        let tree = self.merged_tree(old, tip)?;
        let message = format!("Merge {} into {}", self.record.branch, self.target);
        Ok(snapshot::commit(
            self.repository,
            &tree,
            &[old, tip],
            &message,
        )?)
    }

    /// Moves the target branch from its previous commit, and updates the files of its checkout.
    /// Returns whether the branch was still at that commit.
    pub(crate) fn move_target(&self, old: &str, new: &str) -> Result<bool> {
        let checkout = clean_checkout(self.repository, self.record, self.target)?;
        if self.target_tip()? != old {
            return Ok(false);
        }
        let Some((path, checkout)) = checkout else {
            let name = format!("refs/heads/{}", self.target);
            let at = self.repository.common_git().changing().under(self.lock);
            at.run(&["update-ref", "-m", "swarm: merge", &name, new, old])?;
            return Ok(true);
        };
        let words = const { word_list::<5>("merge --quiet --ff-only --no-autostash --no-stat") };
        let at = checkout.git().changing().under(self.lock);
        let moved = at.run(&[&words[..], &[new]].concat());
        match moved {
            Ok(_) => Ok(true),
            Err(GitError::Failed { why, .. }) => {
                let why = format!("could not update {}: {why}", path.display());
                Err(WorktreeError::not_merged(&self.record.branch, why))
            }
            Err(other) => Err(other.into()),
        }
    }
}
