//! Records of fetched worktrees, in `swarm/members` of the shared git directory.

use std::path::PathBuf;

use swarm_os::InheritableLock;
use swarm_protocol::{MemberName, TeamName};

use crate::repository::{LOCK_WAIT, Repository};
use crate::{Record, Result, json_file};

/// Returns the records of fetched worktrees, sorted by their names. Unreadable ones are skipped, because
/// fetching writes them again.
pub(crate) fn all(repository: &Repository) -> Result<Vec<Record>> {
    let (mut records, damaged) = Record::all_in(&directory(repository))?;
    for error in damaged {
        tracing::warn!(%error, "the record of a fetched worktree is skipped");
    }
    records.retain(|record| record.remote.is_some());
    Ok(records)
}

/// Changes the record of a fetched worktree.
pub(crate) fn change(
    repository: &Repository,
    record: &Record,
    change: impl FnOnce(&mut Record),
) -> Result<()> {
    let (Some(team), Some(member)) = (&record.owner.team, &record.owner.member) else {
        return Ok(());
    };
    let path = file(repository, team, member);
    let _lock = InheritableLock::take(&path.with_extension("lock"), LOCK_WAIT)?;
    let Some(mut now) = json_file::read::<Record>(&path)? else {
        return Ok(());
    };
    change(&mut now);
    json_file::write(&path, &now)
}

/// Removes the ref and the record of a fetched worktree.
pub(crate) fn forget(repository: &Repository, record: &Record) -> Result<()> {
    let (Some(team), Some(member)) = (&record.owner.team, &record.owner.member) else {
        return Ok(());
    };
    let path = file(repository, team, member);
    let lock = InheritableLock::take(&path.with_extension("lock"), LOCK_WAIT)?;
    let at = repository.common_git().changing().under(&lock);
    at.run(&["update-ref", "-d", &record.branch_ref()])?;
    Record::forget_file(&path)?;
    lock.retire();
    Ok(())
}

pub(crate) fn directory(repository: &Repository) -> PathBuf {
    repository.own_directory().join("members")
}

/// Names of teams and members have no dots.
pub(crate) fn file(repository: &Repository, team: &TeamName, member: &MemberName) -> PathBuf {
    directory(repository).join(format!("{team}.{member}.json"))
}
