//! Merging the branch of a worktree into the branch it was made from, one at a time.

use std::path::Path;

use swarm_os::HandedLock;

use crate::copy::copy;
use crate::create::changed_files;
use crate::git::{fields, text};
use crate::heads::look_at;
use crate::merge_tree::{Merging, not_merged};
use crate::registration::{self, check};
use crate::repository::{LOCK_WAIT, Repository};
use crate::view::Checkout;
use crate::{GitError, Record, Slug, WorktreeError, snapshot};

/// How a merge went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The target had everything already.
    AlreadyThere,
    /// The target was moved forward.
    FastForward,
    /// A merge commit was made.
    MergeCommit,
    /// Its commits were copied, without the uncommitted changes at which it began.
    Copied,
}

impl MergeOutcome {
    /// As people and scripts read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AlreadyThere => "already-there",
            Self::FastForward => "fast-forward",
            Self::MergeCommit => "merge-commit",
            Self::Copied => "copied",
        }
    }
}

/// A merge that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The branch of the worktree.
    pub branch: String,
    /// The branch that has it now.
    pub target: String,
    /// The commit of the target.
    pub head: String,
    /// How it went.
    pub outcome: MergeOutcome,
}

/// Merges a worktree's branch into its target. The target changes as a whole or not at all: whether the two fit is found
/// out without touching any file, and a checkout with changes of its own is left alone.
pub(crate) fn merge(repository: &Repository, slug: &Slug) -> Result<Merged, WorktreeError> {
    let find = || {
        Record::load(repository, slug)?.ok_or_else(|| WorktreeError::NotFound {
            slug: slug.to_string(),
            repository: repository.shown(),
        })
    };
    // Where there is none, nobody waits to be told so.
    find()?;
    let lock = HandedLock::take(&repository.lock_path(), LOCK_WAIT)?;
    let record = find()?;
    let merging = Merging {
        repository,
        record: &record,
        target: record.target.as_deref().ok_or_else(|| {
            not_merged(
                &record,
                "it was made from a checkout without a branch; merge it by hand",
            )
        })?,
        lock: &lock,
    };
    let (merged, copied) = merging.carry_out()?;
    // Whoever changes the record has its lock and waits for this one.
    drop(lock);
    if let Some(copied) = copied {
        copied.write_down(repository, slug);
    }
    Ok(merged)
}

/// Work that is in the target in other commits.
struct Copied {
    /// The commit of the worktree's branch up to which it is there.
    taken: String,
    /// The commit of the target that has it.
    taken_as: String,
}

impl Copied {
    /// The merge is made whatever becomes of this. Without it the work counts as not taken, until it is merged again.
    fn write_down(self, repository: &Repository, slug: &Slug) {
        let written = Record::change(repository, slug, |record| {
            record.taken = Some(self.taken);
            record.taken_as = Some(self.taken_as);
            true
        });
        if let Err(error) = written {
            tracing::warn!(%slug, %error, "not written down that its work is merged");
        }
    }
}

impl Merging<'_> {
    /// The merge, and what of it is to be written down.
    fn carry_out(&self) -> Result<(Merged, Option<Copied>), WorktreeError> {
        self.refuse_uncommitted()?;
        let tip = self.tip(&self.record.branch)?;
        let old = self.tip(self.target)?;
        let is_ancestor = |one: &str, other: &str| {
            let at = self.repository.common_git();
            at.asks(&["merge-base", "--is-ancestor", one, other])
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
            .ok_or_else(|| not_merged(self.record, format!("there is no branch {branch} any more")))
    }

    /// What is not committed would not be merged, and nobody would notice.
    fn refuse_uncommitted(&self) -> Result<(), WorktreeError> {
        let path = &self.record.path;
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        let seen = check(self.repository, self.record)?;
        if seen.branch.as_ref() != Some(&self.record.branch) {
            let on = seen.branch.as_deref().unwrap_or("no branch");
            let why = format!(
                "its worktree is on {on}; check {} out there",
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

    /// Refuses a checkout that git lists because somebody has written so into its directory for a worktree of theirs.
    fn refuse_made_up(&self, path: &Path) -> Result<(), WorktreeError> {
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
            "git lists {} as a checkout of {}, and it is none; `git worktree list` shows it",
            path.display(),
            self.target
        );
        Err(not_merged(self.record, why))
    }

    /// Moves the target, and the files of the checkout that has it.
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
        // Git's own entry for a submodule's main checkout names its directory instead.
        let path = match &self.repository.main {
            Some(main) if checkout.path == self.repository.common => main,
            _ => &checkout.path,
        };
        self.refuse_made_up(path)?;
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
                let why = format!("{} could not take it: {why}", path.display());
                not_merged(self.record, why)
            }
            other => other.into(),
        })
    }
}
