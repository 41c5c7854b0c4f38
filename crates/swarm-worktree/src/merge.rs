//! Merges the branch of a worktree into its target branch, one merge at a time per repository.

use std::path::Path;

use swarm_os::InheritableLock;

use crate::copy::copy;
use crate::create::changed_files;
use crate::git::{fields, text};
use crate::heads::look_at;
use crate::merge_tree::{Merging, not_merged};
use crate::registration::{self, check};
use crate::repository::{LOCK_WAIT, Repository};
use crate::view::Checkout;
use crate::{GitError, Record, Slug, WorktreeError, snapshot};

/// Result of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The target already had all commits.
    AlreadyThere,
    /// The target was fast-forwarded.
    FastForward,
    /// A merge commit was created.
    MergeCommit,
    /// The commits were copied, without the uncommitted changes that the worktree is based on.
    Copied,
}

impl MergeOutcome {
    /// Returns the name in output and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::AlreadyThere => "already-there",
            Self::FastForward => "fast-forward",
            Self::MergeCommit => "merge-commit",
            Self::Copied => "copied",
        }
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

/// Merges the branch of a worktree into its target. The target changes completely or not at all:
/// conflicts are detected without changing files, and a target checkout with uncommitted changes is
/// not modified.
pub(crate) fn merge(repository: &Repository, slug: &Slug) -> Result<Merged, WorktreeError> {
    let find = || {
        Record::load(repository, slug)?.ok_or_else(|| WorktreeError::NotFound {
            slug: slug.to_string(),
            repository: repository.shown(),
        })
    };
    // Fails before waiting for the lock if there is none.
    find()?;
    let lock = InheritableLock::take(&repository.lock_path(), LOCK_WAIT)?;
    let record = find()?;
    let merging = Merging {
        repository,
        record: &record,
        target: record.target.as_deref().ok_or_else(|| {
            not_merged(
                &record,
                "it was created from a checkout without a branch; merge it manually",
            )
        })?,
        lock: &lock,
    };
    let (merged, copied) = merging.run()?;
    // Changing the record takes its lock, whose holders may wait for this one.
    drop(lock);
    if let Some(copied) = copied {
        copied.record_in(repository, slug);
    }
    Ok(merged)
}

/// Work that was copied to the target as other commits.
struct Copied {
    /// The last commit of the worktree's branch that was copied.
    taken: String,
    /// The commit of the target that contains it.
    taken_as: String,
}

impl Copied {
    /// Records the copy. The merge is complete even if this fails; the work then counts as unmerged
    /// until the next merge.
    fn record_in(self, repository: &Repository, slug: &Slug) {
        let written = Record::change(repository, slug, |record| {
            record.taken = Some(self.taken);
            record.taken_as = Some(self.taken_as);
            true
        });
        if let Err(error) = written {
            tracing::warn!(%slug, %error, "could not record a merge");
        }
    }
}

impl Merging<'_> {
    /// Performs the merge. Returns it with the copy to record.
    fn run(&self) -> Result<(Merged, Option<Copied>), WorktreeError> {
        self.refuse_uncommitted()?;
        let tip = self.tip(&self.record.branch)?;
        let old = self.tip(self.target)?;
        let is_ancestor = |one: &str, other: &str| {
            let at = self.repository.common_git();
            at.succeeds(&["merge-base", "--is-ancestor", one, other])
        };
        if is_ancestor(&tip, &old)? {
            return Ok((self.merged(old, MergeOutcome::AlreadyThere), None));
        }
        let base = &self.record.base;
        if base.snapshot_of.is_some() && !is_ancestor(&base.sha, &old)? {
            let new = copy(self, &old, &tip)?;
            let outcome = if new == old {
                MergeOutcome::AlreadyThere
            } else {
                self.move_target(&old, &new)?;
                MergeOutcome::Copied
            };
            let copied = Copied {
                taken: tip,
                taken_as: new.clone(),
            };
            return Ok((self.merged(new, outcome), Some(copied)));
        }
        let (new, outcome) = if is_ancestor(&old, &tip)? {
            (tip, MergeOutcome::FastForward)
        } else {
            (self.merge_commit(&old, &tip)?, MergeOutcome::MergeCommit)
        };
        self.move_target(&old, &new)?;
        Ok((self.merged(new, outcome), None))
    }

    fn merged(&self, head: String, outcome: MergeOutcome) -> Merged {
        Merged {
            branch: self.record.branch.clone(),
            target: self.target.to_owned(),
            head,
            outcome,
        }
    }

    fn tip(&self, branch: &str) -> Result<String, WorktreeError> {
        self.repository
            .tip(branch)?
            .ok_or_else(|| not_merged(self.record, format!("the branch {branch} no longer exists")))
    }

    /// Refuses uncommitted changes of the worktree, which would be missing in the merge.
    fn refuse_uncommitted(&self) -> Result<(), WorktreeError> {
        let path = &self.record.path;
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        let seen = check(self.repository, self.record)?;
        if seen.branch.as_ref() != Some(&self.record.branch) {
            let on = seen.branch.as_deref().unwrap_or("no branch");
            let why = format!(
                "its worktree is on {on}; check out {} there",
                self.record.branch
            );
            return Err(not_merged(self.record, why));
        }
        let mut files = changed_files(self.repository, path)?;
        files.retain(|file| {
            !self
                .record
                .carried
                .iter()
                .any(|carried| carried.path == Path::new(file))
        });
        if files.is_empty() {
            return Ok(());
        }
        let why = format!(
            "its worktree has uncommitted changes: {}; commit or discard them",
            crate::hazard::named(&files)
        );
        Err(not_merged(self.record, why))
    }

    fn merge_commit(&self, old: &str, tip: &str) -> Result<String, WorktreeError> {
        let tree = self.merged_tree(old, tip)?;
        let message = format!("Merge {} into {}", self.record.branch, self.target);
        Ok(snapshot::commit(
            self.repository,
            &tree,
            &[old, tip],
            &message,
        )?)
    }

    /// Refuses a forged checkout that git lists because an agent has manipulated the git directory
    /// of its worktree.
    fn refuse_forged(&self, path: &Path) -> Result<(), WorktreeError> {
        if self.repository.main.as_deref() == Some(path)
            || self.repository.recorded_at(path)?.is_some()
        {
            return Ok(());
        }
        let (records, _) = Record::all(self.repository)?;
        let is_ours = |admin: &Path| {
            let mut own = records
                .iter()
                .filter_map(|record| registration::admin(self.repository, record));
            own.any(|own| own == admin)
        };
        let is_theirs = look_at(path).is_some_and(|seen| {
            seen.common_dir == self.repository.common
                && (seen.git_dir == seen.common_dir
                    || (!is_ours(&seen.git_dir)
                        && registration::leads_back(&seen.git_dir, &seen.toplevel)))
        });
        if is_theirs {
            return Ok(());
        }
        let why = format!(
            "git lists {} as a checkout of {}, but it is not; check `git worktree list`",
            path.display(),
            self.target
        );
        Err(not_merged(self.record, why))
    }

    /// Moves the target branch, and updates the files of its checkout.
    fn move_target(&self, old: &str, new: &str) -> Result<(), WorktreeError> {
        let registered = self.repository.registered()?;
        let checkout = registered
            .iter()
            .find(|known| known.branch.as_deref() == Some(self.target) && known.path.is_dir());
        let Some(checkout) = checkout else {
            let name = format!("refs/heads/{}", self.target);
            let at = self.repository.common_git().changing().under(self.lock);
            at.run(&["update-ref", "-m", "swarm: merge", &name, new, old])?;
            return Ok(());
        };
        // For the main checkout of a submodule, git lists its git directory.
        let path = match &self.repository.main {
            Some(main) if checkout.path == self.repository.common => main,
            _ => &checkout.path,
        };
        self.refuse_forged(path)?;
        let checkout = Checkout::at(self.repository, path)?;
        let at = checkout.git();
        let changed = at.run(&[
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=no",
            checkout.submodules(),
        ])?;
        let changed: Vec<_> = fields(&changed)
            .map(|field| text(field.get(3..).unwrap_or_default()))
            .collect();
        if !changed.is_empty() {
            let why = format!(
                "{}, where {} is checked out, has uncommitted changes: {}; commit or stash them there, and merge again",
                path.display(),
                self.target,
                crate::hazard::named(&changed)
            );
            return Err(not_merged(self.record, why));
        }
        let moved = at.changing().under(self.lock).run(&[
            "merge",
            "--quiet",
            "--ff-only",
            "--no-autostash",
            "--no-stat",
            new,
        ]);
        moved.map(drop).map_err(|error| match error {
            GitError::Failed { why, .. } => {
                let why = format!("could not update {}: {why}", path.display());
                not_merged(self.record, why)
            }
            other => other.into(),
        })
    }
}
