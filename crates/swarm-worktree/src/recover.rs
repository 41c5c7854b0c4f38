//! Taking away what was half made, so that no branch and no directory is left of it.

use std::fs;
use std::path::Path;

use swarm_os::{HandedLock, read_optional, remove_tree};

use crate::registration::admin;
use crate::repository::{LOCK_WAIT, Repository};
use crate::{GitError, Record, Slug, Stage, WorktreeError};

/// The ref that keeps the snapshot at which a worktree began.
pub(crate) fn snapshot_ref(slug: &Slug) -> String {
    format!("refs/swarm/snapshots/{}", slug.directory())
}

/// Takes away every worktree whose maker has died over it. Nobody has worked in them.
pub(crate) fn half_made(repository: &Repository, but: Option<&Slug>) -> Result<(), WorktreeError> {
    let (records, _) = Record::all(repository)?;
    for record in records {
        if record.stage != Stage::Making || Some(&record.slug) == but {
            continue;
        }
        // Whoever makes it holds this lock, and so does every git that it has started.
        let Some(lock) = HandedLock::try_take(&repository.slug_lock_path(&record.slug))? else {
            continue;
        };
        let still = Record::load(repository, &record.slug)?;
        if let Some(record) = still.filter(|record| record.stage == Stage::Making) {
            tracing::warn!(slug = %record.slug, "half-made worktree taken away");
            undo(repository, &record)?;
        }
        if Record::load(repository, &record.slug)?.is_none() {
            lock.retire();
        }
    }
    Ok(())
}

/// Takes a worktree away in which nobody has worked. The caller has its lock.
pub(crate) fn undo(repository: &Repository, record: &Record) -> Result<(), WorktreeError> {
    clear(repository, record, &record.base.sha)
}

/// Takes away what is left of a worktree whose work is elsewhere too: its branch may stand anywhere. The caller has its lock.
pub(crate) fn forget(repository: &Repository, record: &Record) -> Result<(), WorktreeError> {
    let tip = repository.tip(&record.branch)?;
    clear(
        repository,
        record,
        tip.as_deref().unwrap_or(&record.base.sha),
    )
}

fn clear(repository: &Repository, record: &Record, tip: &str) -> Result<(), WorktreeError> {
    let lock = HandedLock::take(&repository.lock_path(), LOCK_WAIT)?;
    unregister(repository, record, &lock)?;
    delete_branch(repository, record, tip, &lock)?;
    Record::forget(repository, &record.slug)
}

/// Takes directory and registration away, whatever state they are in.
fn unregister(
    repository: &Repository,
    record: &Record,
    lock: &HandedLock,
) -> Result<(), WorktreeError> {
    let at = repository.common_git().changing().under(lock);
    let removed = at.run(&[
        "worktree".as_ref(),
        "remove".as_ref(),
        "--force".as_ref(),
        "--force".as_ref(),
        record.path.as_os_str(),
    ]);
    if let Err(error) = removed {
        tracing::debug!(slug = %record.slug, %error, "not known to git, or half known");
    }
    remove_tree(&record.path)?;
    let directory = record.slug.directory();
    let known = repository.common.join("worktrees");
    let Ok(entries) = fs::read_dir(&known) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_its = name
            .strip_prefix(&directory)
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        // Git names these after the directory, and writes down whose they are a moment later.
        if is_its && belongs_to(&entry.path(), &record.path) {
            remove_tree(&entry.path())?;
        }
    }
    Ok(())
}

/// What git's lock on a worktree says, if there is one; also of a worktree whose directory is gone.
pub(crate) fn lock_reason(repository: &Repository, record: &Record) -> Option<String> {
    let reason = read_optional(&admin(repository, record)?.join("locked"));
    Some(String::from_utf8_lossy(&reason.ok()??).into_owned())
}

/// Whether git's directory of a worktree is that of this path, or was not yet anybody's.
fn belongs_to(admin: &Path, path: &Path) -> bool {
    match fs::read_to_string(admin.join("gitdir")) {
        Ok(named) => Path::new(named.trim()).parent() == Some(path),
        Err(_) => true,
    }
}

/// Deletes the branch and the snapshot, if the branch still points to `expected`.
pub(crate) fn delete_branch(
    repository: &Repository,
    record: &Record,
    expected: &str,
    lock: &HandedLock,
) -> Result<(), WorktreeError> {
    let at = repository.common_git().changing().under(lock);
    if repository.has_branch(&record.branch)? {
        let name = format!("refs/heads/{}", record.branch);
        at.run(&["update-ref", "-d", &name, expected])?;
    }
    if record.base.snapshot_of.is_some() {
        at.run(&["update-ref", "-d", &snapshot_ref(&record.slug)])?;
    }
    Ok(())
}

/// How many commits a worktree's branch has that nothing else holds: no other branch, no fetched branch, no tag, and not
/// its beginning.
pub(crate) fn commits_of_its_own(
    repository: &Repository,
    record: &Record,
) -> Result<u64, GitError> {
    match repository.tip(&record.branch)? {
        None => Ok(0),
        Some(tip) => unheld(repository, record, &[&tip]),
    }
}

/// How many commits below these nothing else holds than the worktree's own branch.
pub(crate) fn unheld(
    repository: &Repository,
    record: &Record,
    tips: &[&str],
) -> Result<u64, GitError> {
    let exclude = format!("--exclude={}", record.branch);
    let mut words = vec!["rev-list", "--count"];
    words.extend(tips);
    words.push("--not");
    words.extend(taken(repository, record)?);
    words.extend([
        &record.base.sha,
        &exclude,
        "--branches",
        "--remotes",
        "--tags",
    ]);
    let count = repository.common_git().line(&words)?;
    count.parse().map_err(|_| GitError::Failed {
        command: words.join(" "),
        directory: repository.shown(),
        why: format!("it printed `{count}` instead of a number"),
        code: Some(0),
    })
}

/// The commit up to which the work of a worktree is in the target in other commits, if anything holds these still.
fn taken<'a>(repository: &Repository, record: &'a Record) -> Result<Option<&'a str>, GitError> {
    let (Some(taken), Some(with)) = (&record.taken, &record.taken_as) else {
        return Ok(None);
    };
    let exclude = format!("--exclude={}", record.branch);
    let words = [
        "rev-list",
        "--count",
        with,
        "--not",
        &exclude,
        "--branches",
        "--remotes",
        "--tags",
    ];
    // A commit that git has thrown away meanwhile is an error.
    let (code, out, _) = repository.common_git().status(&words)?;
    let is_held = code == Some(0) && out.trim_ascii() == b"0";
    Ok(is_held.then_some(taken.as_str()))
}
