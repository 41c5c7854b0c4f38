//! Removes worktrees if that is known to be safe, or after their work was saved.

use std::path::PathBuf;

use swarm_os::InheritableLock;
use swarm_protocol::UnixMs;

use crate::git::words;
use crate::inspect::hazards;
use crate::record::OUR_LOCK;
use crate::registration::admin;
use crate::repository::{LOCK_WAIT, Repository};
use crate::rescue::{Rescue, rescue};
use crate::{FormerOwner, Hazard, Record, Result, Slug, Stage, WorktreeError, fetched, recover};

/// A removed worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedWorktree {
    /// The name.
    pub slug: Slug,
    /// The path.
    pub path: PathBuf,
    /// The deleted branch.
    pub branch: String,
    /// Where its work was saved, if there was any.
    pub rescue: Option<Rescue>,
    /// The machine on which the worktree remains: only the commits fetched from there were removed.
    pub remains_on: Option<String>,
}

/// What was done with the worktree of an agent that has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeOutcome {
    /// It had no work and was removed with its branch.
    Removed(RemovedWorktree),
    /// It has work and was kept.
    Kept {
        /// The name.
        slug: Slug,
        /// The path.
        path: PathBuf,
        /// The branch.
        branch: String,
        /// The reasons against its removal.
        why: Vec<Hazard>,
    },
}

/// Removes a worktree. With `force`, its work is saved first.
pub(crate) fn remove(
    repository: &Repository,
    slug: &Slug,
    force: bool,
    now: UnixMs,
) -> Result<RemovedWorktree> {
    let missing = || WorktreeError::not_found(slug, repository.shown());
    let found = Record::find(repository, slug)?.ok_or_else(missing)?;
    if found.remote.is_some() {
        return remove_fetched(repository, &found, force, now);
    }
    let lock = InheritableLock::take(&repository.slug_lock_path(slug), LOCK_WAIT)?;
    let record = Record::load(repository, slug)?.ok_or_else(missing)?;
    remove_locked(repository, &record, lock, force, now)
}

/// Removes what was fetched of a worktree on another machine. Nothing changes there.
fn remove_fetched(
    repository: &Repository,
    record: &Record,
    force: bool,
    now: UnixMs,
) -> Result<RemovedWorktree> {
    let unmerged = recover::unmerged_commits(repository, record)?;
    if unmerged > 0 && !force {
        return Err(WorktreeError::Unsafe {
            slug: record.slug.to_string(),
            hazards: vec![Hazard::Unmerged(unmerged)],
            forced: false,
        });
    }
    let saved = (unmerged > 0).then(|| rescue(repository, record, now));
    let saved = saved.transpose()?;
    fetched::forget(repository, record)?;
    Ok(removed(record, saved))
}

/// Removes the worktree of an agent that has stopped, if that is safe. Returns `None` if it belongs
/// to another agent by now. It is kept while the next spawn of the same agent uses it.
pub(crate) fn finish(
    repository: &Repository,
    slug: &Slug,
    former_owner: &FormerOwner,
    now: UnixMs,
) -> Result<Option<WorktreeOutcome>> {
    let lock = InheritableLock::take(&repository.slug_lock_path(slug), LOCK_WAIT)?;
    let Some(mut record) = Record::load(repository, slug)? else {
        lock.retire();
        return Ok(None);
    };
    if !record.owner.is_same_agent(&former_owner.owner) {
        return Ok(None);
    }
    if record.release_from(former_owner) {
        record.save(repository)?;
        unlock_in_git(repository, &record);
    }
    match remove_locked(repository, &record, lock, false, now) {
        Ok(removed) => Ok(Some(WorktreeOutcome::Removed(removed))),
        Err(WorktreeError::Unsafe { hazards, .. }) => Ok(Some(WorktreeOutcome::Kept {
            slug: record.slug,
            path: record.path,
            branch: record.branch,
            why: hazards,
        })),
        Err(error) => Err(error),
    }
}

fn remove_locked(
    repository: &Repository,
    record: &Record,
    lock: InheritableLock,
    force: bool,
    now: UnixMs,
) -> Result<RemovedWorktree> {
    let slug = &record.slug;
    if record.stage == Stage::Making {
        recover::undo(repository, record)?;
        lock.retire();
        return Ok(removed(record, None));
    }
    let found = hazards(repository, record);
    let mut saved = None;
    if !found.is_empty() {
        if !force || !found.iter().all(Hazard::can_be_rescued) {
            return Err(WorktreeError::Unsafe {
                slug: slug.to_string(),
                hazards: found,
                forced: force,
            });
        }
        saved = Some(rescue(repository, record, now)?);
    }
    delete(repository, record, saved.is_some())?;
    lock.retire();
    Ok(removed(record, saved))
}

fn removed(record: &Record, rescue: Option<Rescue>) -> RemovedWorktree {
    RemovedWorktree {
        slug: record.slug.clone(),
        path: record.path.clone(),
        branch: record.branch.clone(),
        rescue,
        remains_on: record.remote.as_ref().map(|remote| remote.host.clone()),
    }
}

/// Removes directory, registration, branch and record, and verifies the result.
fn delete(repository: &Repository, record: &Record, saved: bool) -> Result<()> {
    let lock = InheritableLock::take(&repository.lock_path(), LOCK_WAIT)?;
    let tip = repository.tip(record)?;
    let at = repository.common_git().changing().under(&lock);
    let reason = recover::lock_reason(repository, record);
    if reason.is_some_and(|reason| saved || reason.starts_with(OUR_LOCK)) {
        at.run(words!["worktree", "unlock", &record.path])?;
    }
    if !saved {
        // Checked again for changes since the first check.
        let found = hazards(repository, record);
        if !found.is_empty() {
            return Err(WorktreeError::Unsafe {
                slug: record.slug.to_string(),
                hazards: found,
                forced: false,
            });
        }
    }
    // Without `--force` git would inspect the worktree and trust its files.
    at.run(words!["worktree", "remove", "--force", &record.path])?;
    if let Some(tip) = tip {
        recover::delete_branch(repository, record, &tip, &lock)?;
    }
    verify(repository, record)?;
    Record::forget(repository, &record.slug)
}

/// Verifies that directory, registration and branch no longer exist.
fn verify(repository: &Repository, record: &Record) -> Result<()> {
    let left = |why: &str| Err(WorktreeError::not_removed(&record.slug, why));
    if record.path.symlink_metadata().is_ok() {
        return left(&format!("{} still exists", record.path.display()));
    }
    if repository
        .registered()?
        .iter()
        .any(|known| known.path == record.path)
    {
        return left("git still lists it");
    }
    if repository.has_branch(&record.branch)? {
        return left(&format!("its branch {} still exists", record.branch));
    }
    Ok(())
}

/// Removes swarm's `git worktree lock`. The caller holds the lock of the record.
pub(crate) fn unlock_in_git(repository: &Repository, record: &Record) {
    let ours =
        recover::lock_reason(repository, record).is_some_and(|reason| reason.starts_with(OUR_LOCK));
    if let Some(admin) = admin(repository, record).filter(|_| ours)
        && let Err(error) = std::fs::remove_file(admin.join("locked"))
    {
        tracing::warn!(slug = %record.slug, %error, "could not remove the git lock of a worktree");
    }
}
