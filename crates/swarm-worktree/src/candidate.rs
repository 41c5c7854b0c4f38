//! The merge queue of a repository: one merge at a time is prepared, checked and applied.

use std::path::{Path, PathBuf};
use std::time::Duration;

use swarm_os::{InheritableLock, LockInterrupt, OsError, remove_tree};

use crate::git::words;
use crate::merge::Prepared;
use crate::merge_tree::Merging;
use crate::repository::{LOCK_WAIT, Repository};
use crate::{Merged, Record, Result, Slug, WorktreeError, WorktreeSettings, carry, place};

/// Timeout of the wait for other merges, whose checks may take minutes each.
const QUEUE_WAIT: Duration = Duration::from_hours(1);

/// Time after which the caller learns that other merges are waited for.
const REPORT_AFTER: Duration = Duration::from_secs(1);

/// Directory of the scratch checkout next to the worktrees. No slug has this name.
const SCRATCH: &str = "@merge";

/// A merge that is prepared and not applied. Other merges of the repository wait until it is
/// dropped.
#[derive(Debug)]
pub struct MergeCandidate {
    repository: Repository,
    settings: WorktreeSettings,
    record: Record,
    target: String,
    prepared: Prepared,
    /// The scratch checkout, if there is one.
    scratch: Option<PathBuf>,
    queue: InheritableLock,
}

impl MergeCandidate {
    /// Waits for its turn and prepares the merge of a worktree. `on_wait` is called if another
    /// merge is in progress.
    pub(crate) fn prepare(
        repository: Repository,
        settings: WorktreeSettings,
        slug: &Slug,
        interrupt: &LockInterrupt,
        on_wait: &dyn Fn(),
    ) -> Result<Self> {
        let find = || {
            Record::find(&repository, slug)?
                .ok_or_else(|| WorktreeError::not_found(slug, repository.shown()))
        };
        // Fails before waiting for the lock if there is none.
        find()?;
        let queue = take_turn(&repository.merge_lock_path(), interrupt, on_wait)?;
        let record = find()?;
        let target = record.target.clone().ok_or_else(|| {
            let why = "it was created from a checkout without a branch; merge it manually";
            WorktreeError::not_merged(&record.branch, why)
        })?;
        let merging = Merging {
            repository: &repository,
            record: &record,
            target: &target,
            lock: &queue,
        };
        let prepared = merging.prepare()?;
        Ok(Self {
            repository,
            settings,
            record,
            target,
            prepared,
            scratch: None,
            queue,
        })
    }

    /// Returns the record of the worktree.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Returns the commit of the worktree's branch that is merged.
    pub fn tip(&self) -> &str {
        &self.prepared.tip
    }

    /// Returns whether the merge adds nothing to the branch, so that its files are those of the worktree.
    pub fn adds_nothing(&self) -> bool {
        self.prepared.new == self.prepared.tip
    }

    /// Returns a directory with the files of the merge: the worktree itself if the merge adds
    /// nothing to it, otherwise a scratch checkout, which is removed with the candidate.
    ///
    /// # Errors
    /// [`WorktreeError`] if it could not be created.
    pub fn check_out(&mut self) -> Result<PathBuf> {
        if self.adds_nothing()
            && let Some(own) = self.record.path_here().filter(|own| own.is_dir())
        {
            return Ok(own.to_owned());
        }
        if let Some(path) = &self.scratch {
            return Ok(path.clone());
        }
        let outer = place::directory(&self.repository, &self.settings)?;
        let path = outer.join(SCRATCH);
        // A process that was killed may have left one.
        self.remove(&path)?;
        let filled = self.fill(&path);
        self.scratch = Some(path.clone());
        filled.map(|()| path)
    }

    fn fill(&self, path: &Path) -> Result<()> {
        self.add(path)?;
        let reset = ["reset", "--hard", "--quiet", "--no-recurse-submodules"];
        let at = self.repository.at(path).changing();
        at.under(&self.queue).run(&reset)?;
        let mut record = Record {
            path: path.to_owned(),
            remote: None,
            ..self.record.clone()
        };
        carry::copy_untracked(&self.repository, &self.settings, &mut record)
    }

    /// Registers the empty checkout with git.
    fn add(&self, path: &Path) -> Result<()> {
        let lock = InheritableLock::take(&self.repository.lock_path(), LOCK_WAIT)?;
        let mut words = words!["worktree", "add", "--force", "--detach", "--no-checkout"].to_vec();
        words.extend(words!["--", path, &self.prepared.new]);
        let at = self.repository.checkout_git().changing();
        at.under(&lock).run(&words)?;
        Ok(())
    }

    /// Removes a scratch checkout in any state.
    fn remove(&self, path: &Path) -> Result<()> {
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        let lock = InheritableLock::take(&self.repository.lock_path(), LOCK_WAIT)?;
        let words = words!["worktree", "remove", "--force", path];
        let at = self.repository.common_git().changing();
        if let Err(error) = at.under(&lock).run(words) {
            tracing::debug!(%error, "git could not remove a scratch checkout");
        }
        Ok(remove_tree(path)?)
    }

    /// Moves the target to the merge by compare-and-swap.
    ///
    /// # Errors
    /// [`WorktreeError::TargetMoved`] if the target moved since the preparation, and
    /// [`WorktreeError::TargetChanged`] if its checkout has uncommitted changes by now. The target
    /// is unchanged after any error.
    pub fn apply(mut self) -> Result<Merged> {
        let (old, new) = (&self.prepared.old, &self.prepared.new);
        if old != new {
            let lock = InheritableLock::take(&self.repository.lock_path(), LOCK_WAIT)?;
            let merging = Merging {
                repository: &self.repository,
                record: &self.record,
                target: &self.target,
                lock: &lock,
            };
            if !merging.move_target(old, new)? {
                return Err(WorktreeError::TargetMoved {
                    branch: self.record.branch.clone(),
                    target: self.target.clone(),
                });
            }
        }
        // Changing the record takes its lock, whose holders may wait for the one above.
        if let Some(copied) = self.prepared.copied.take() {
            copied.record_in(&self.repository, &self.record);
        }
        Ok(Merged {
            branch: self.record.branch.clone(),
            target: self.target.clone(),
            head: self.prepared.new.clone(),
            outcome: self.prepared.outcome,
        })
    }
}

/// Takes the lock of the merge queue. Calls `on_wait` once if it is not free soon.
fn take_turn(
    path: &Path,
    interrupt: &LockInterrupt,
    on_wait: &dyn Fn(),
) -> Result<InheritableLock, OsError> {
    match InheritableLock::take_unless(path, REPORT_AFTER, interrupt) {
        Err(OsError::LockTimeout { .. }) if !interrupt.is_set() => {
            on_wait();
            InheritableLock::take_unless(path, QUEUE_WAIT, interrupt)
        }
        taken => taken,
    }
}

impl Drop for MergeCandidate {
    fn drop(&mut self) {
        if let Some(path) = self.scratch.take()
            && let Err(error) = self.remove(&path)
        {
            tracing::warn!(path = %path.display(), %error, "scratch checkout not removed");
        }
    }
}
