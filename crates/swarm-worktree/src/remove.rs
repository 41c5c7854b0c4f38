//! Removing worktrees: only what is known to be safe, or was saved first.

use std::path::PathBuf;

use swarm_os::HandedLock;
use swarm_protocol::UnixMs;

use crate::inspect::hazards;
use crate::record::OUR_LOCK;
use crate::registration::admin;
use crate::repository::{LOCK_WAIT, Repository};
use crate::rescue::{Rescue, rescue};
use crate::{Hazard, Leaver, Record, Slug, Stage, WorktreeError, recover};

/// A worktree that is no longer there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedWorktree {
    /// The name it had.
    pub slug: Slug,
    /// Where it was.
    pub path: PathBuf,
    /// The branch that went with it.
    pub branch: String,
    /// Where its work was saved, if it had any.
    pub rescue: Option<Rescue>,
}

/// What became of a worktree whose agent has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeOutcome {
    /// It held nothing and is gone, with its branch.
    Removed(RemovedWorktree),
    /// It holds something and is kept.
    Kept {
        /// The name it goes by.
        slug: Slug,
        /// Where it is.
        path: PathBuf,
        /// Its branch.
        branch: String,
        /// What it holds.
        why: Vec<Hazard>,
    },
}

/// Removes one worktree. With `force`, what it holds is saved first.
pub(crate) fn remove(
    repository: &Repository,
    slug: &Slug,
    force: bool,
    now: UnixMs,
) -> Result<RemovedWorktree, WorktreeError> {
    let missing = || WorktreeError::NotFound {
        slug: slug.to_string(),
        repository: repository.shown(),
    };
    if Record::load(repository, slug)?.is_none() {
        return Err(missing());
    }
    let lock = HandedLock::take(&repository.slug_lock_path(slug), LOCK_WAIT)?;
    let record = Record::load(repository, slug)?.ok_or_else(missing)?;
    remove_locked(repository, &record, lock, force, now)
}

/// Removes the worktree of an agent that has ended, if that is safe. `None` where another agent has it by now; the next
/// spawn of the same agent keeps it as long as it is in use.
pub(crate) fn part(
    repository: &Repository,
    slug: &Slug,
    leaver: &Leaver,
    now: UnixMs,
) -> Result<Option<WorktreeOutcome>, WorktreeError> {
    let lock = HandedLock::take(&repository.slug_lock_path(slug), LOCK_WAIT)?;
    let Some(mut record) = Record::load(repository, slug)? else {
        lock.retire();
        return Ok(None);
    };
    if !record.owner.is_same_agent(&leaver.owner) {
        return Ok(None);
    }
    if record.is_still_of(leaver) {
        record.hand_back();
        record.save(repository)?;
        let_git_go(repository, &record);
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
    lock: HandedLock,
    force: bool,
    now: UnixMs,
) -> Result<RemovedWorktree, WorktreeError> {
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
    take_away(repository, record, saved.is_some())?;
    lock.retire();
    Ok(removed(record, saved))
}

fn removed(record: &Record, rescue: Option<Rescue>) -> RemovedWorktree {
    RemovedWorktree {
        slug: record.slug.clone(),
        path: record.path.clone(),
        branch: record.branch.clone(),
        rescue,
    }
}

/// Removes directory, registration, branch and record, and makes sure of it by looking.
fn take_away(repository: &Repository, record: &Record, saved: bool) -> Result<(), WorktreeError> {
    let lock = HandedLock::take(&repository.lock_path(), LOCK_WAIT)?;
    let tip = repository.tip(&record.branch)?;
    let at = repository.common_git().changing().under(&lock);
    let reason = recover::lock_reason(repository, record);
    if reason.is_some_and(|reason| saved || reason.starts_with(OUR_LOCK)) {
        at.run(&[
            "worktree".as_ref(),
            "unlock".as_ref(),
            record.path.as_os_str(),
        ])?;
    }
    if !saved {
        // Once more, for changes that were made since we looked.
        let found = hazards(repository, record);
        if !found.is_empty() {
            return Err(WorktreeError::Unsafe {
                slug: record.slug.to_string(),
                hazards: found,
                forced: false,
            });
        }
    }
    // Without `--force` git itself would look, and believe what the worktree's own files say.
    at.run(&[
        "worktree".as_ref(),
        "remove".as_ref(),
        "--force".as_ref(),
        record.path.as_os_str(),
    ])?;
    if let Some(tip) = tip {
        recover::delete_branch(repository, record, &tip, &lock)?;
    }
    verify(repository, record)?;
    Record::forget(repository, &record.slug)
}

/// Looks whether what was removed is gone: from the disk, from git's list and from its branches.
fn verify(repository: &Repository, record: &Record) -> Result<(), WorktreeError> {
    let left = |why: String| WorktreeError::NotRemoved {
        slug: record.slug.to_string(),
        why,
    };
    if record.path.symlink_metadata().is_ok() {
        return Err(left(format!("{} is still there", record.path.display())));
    }
    if repository
        .registered()?
        .iter()
        .any(|known| known.path == record.path)
    {
        return Err(left("git still lists it".to_owned()));
    }
    if repository.has_branch(&record.branch)? {
        return Err(left(format!("its branch {} is still there", record.branch)));
    }
    Ok(())
}

/// Marks that nobody works in a worktree any more, unless somebody else has it by now.
pub(crate) fn hand_back(
    repository: &Repository,
    slug: &Slug,
    leaver: &Leaver,
) -> Result<(), WorktreeError> {
    let changed = Record::change(repository, slug, |record| {
        let is_theirs = record.is_still_of(leaver);
        if is_theirs {
            record.hand_back();
        }
        is_theirs
    })?;
    if let Some((record, _lock)) = changed {
        let_git_go(repository, &record);
    }
    Ok(())
}

/// Removes our lock on a worktree, by which git keeps it. The caller has the one on its record.
pub(crate) fn let_git_go(repository: &Repository, record: &Record) {
    let ours =
        recover::lock_reason(repository, record).is_some_and(|reason| reason.starts_with(OUR_LOCK));
    if let Some(admin) = admin(repository, record).filter(|_| ours)
        && let Err(error) = std::fs::remove_file(admin.join("locked"))
    {
        tracing::warn!(slug = %record.slug, %error, "git's lock on a worktree not removed");
    }
}
