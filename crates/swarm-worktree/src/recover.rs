//! Removes incompletely created worktrees with their branches and directories.

use std::fs;
use std::path::Path;

use swarm_os::{InheritableLock, read_optional, remove_tree};

use crate::git::words;
use crate::heads::is_object_id;
use crate::registration::admin;
use crate::repository::{LOCK_WAIT, Repository};
use crate::{GitError, Record, Result, Slug, Stage};

/// Options for all refs that keep commits.
const OTHER_REFS: [&str; 3] = ["--branches", "--remotes", "--tags"];

/// Returns the ref of the snapshot that a worktree is based on.
pub(crate) fn snapshot_ref(slug: &Slug) -> String {
    format!("refs/swarm/snapshots/{}", slug.directory())
}

/// Removes all worktrees whose creator died during the creation. No agent has worked in them.
pub(crate) fn half_made(repository: &Repository, but: Option<&Slug>) -> Result<()> {
    let (records, _) = Record::all(repository)?;
    for record in records {
        if record.stage != Stage::Making || Some(&record.slug) == but {
            continue;
        }
        // The creator and every git process that it started hold this lock.
        let Some(lock) = InheritableLock::try_take(&repository.slug_lock_path(&record.slug))?
        else {
            continue;
        };
        let still = Record::load(repository, &record.slug)?;
        if let Some(record) = still.filter(|record| record.stage == Stage::Making) {
            tracing::warn!(slug = %record.slug, "removed an incompletely created worktree");
            undo(repository, &record)?;
        }
        if Record::load(repository, &record.slug)?.is_none() {
            lock.retire();
        }
    }
    Ok(())
}

/// Removes a worktree in which no agent has worked. The caller holds its lock.
pub(crate) fn undo(repository: &Repository, record: &Record) -> Result<()> {
    clear(repository, record, &record.base.sha)
}

/// Removes the remains of a worktree whose work is elsewhere too, wherever its branch points. The
/// caller holds its lock.
pub(crate) fn forget(repository: &Repository, record: &Record) -> Result<()> {
    let tip = repository.tip(record)?;
    clear(
        repository,
        record,
        tip.as_deref().unwrap_or(&record.base.sha),
    )
}

fn clear(repository: &Repository, record: &Record, tip: &str) -> Result<()> {
    let lock = InheritableLock::take(&repository.lock_path(), LOCK_WAIT)?;
    unregister(repository, record, &lock)?;
    delete_branch(repository, record, tip, &lock)?;
    Record::forget(repository, &record.slug)
}

/// Removes directory and registration in any state.
fn unregister(repository: &Repository, record: &Record, lock: &InheritableLock) -> Result<()> {
    let at = repository.common_git().changing().under(lock);
    let words = words!["worktree", "remove", "--force", "--force", &record.path];
    if let Err(error) = at.run(words) {
        tracing::debug!(slug = %record.slug, %error, "git could not remove the worktree");
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
        // Git names these after the worktree directory, and writes the path of the worktree a
        // moment later.
        if is_its && belongs_to(&entry.path(), &record.path) {
            remove_tree(&entry.path())?;
        }
    }
    Ok(())
}

/// Returns the reason of git's lock on a worktree, if it is locked, even if its directory was
/// deleted.
pub(crate) fn lock_reason(repository: &Repository, record: &Record) -> Option<String> {
    let reason = read_optional(&admin(repository, record)?.join("locked"));
    Some(String::from_utf8_lossy(&reason.ok()??).into_owned())
}

/// Returns whether a git directory belongs to the worktree at this path or to none yet.
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
    lock: &InheritableLock,
) -> Result<()> {
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

/// Returns the number of commits of a worktree's branch that are not in any other branch, remote
/// branch or tag, and not in its base.
pub(crate) fn unmerged_commits(repository: &Repository, record: &Record) -> Result<u64, GitError> {
    match repository.tip(record)? {
        None => Ok(0),
        Some(tip) => unreachable_elsewhere(repository, record, &[&tip]),
    }
}

/// Returns whether a branch, remote branch or tag contains a commit.
pub(crate) fn is_merged(repository: &Repository, commit: &str) -> Result<bool, GitError> {
    let words = [&["rev-list", "--count", commit, "--not"][..], &OTHER_REFS].concat();
    Ok(repository.common_git().line(&words)? == "0")
}

/// Returns the number of commits reachable from `tips` that only the worktree's own branch
/// contains.
pub(crate) fn unreachable_elsewhere(
    repository: &Repository,
    record: &Record,
    tips: &[&str],
) -> Result<u64, GitError> {
    let exclude = format!("--exclude={}", record.branch);
    let mut words = vec!["rev-list", "--count"];
    words.extend(tips);
    words.push("--not");
    words.extend(taken(repository, record)?);
    words.extend(merged_elsewhere(repository, record)?);
    words.extend([record.base.sha.as_str(), &exclude]);
    words.extend(OTHER_REFS);
    let count = repository.common_git().line(&words)?;
    count.parse().map_err(|_| GitError::Failed {
        command: words.join(" "),
        directory: repository.shown(),
        why: format!("it printed `{count}` instead of a number"),
        code: Some(0),
    })
}

/// Returns the last commit that was merged on another machine, if it is in the repository.
fn merged_elsewhere<'a>(
    repository: &Repository,
    record: &'a Record,
) -> Result<Option<&'a str>, GitError> {
    let Some(commit) = record.merged_elsewhere.as_deref() else {
        return Ok(None);
    };
    if !is_object_id(commit) {
        return Ok(None);
    }
    let object = format!("{commit}^{{commit}}");
    let words = ["rev-parse", "--verify", "--quiet", &object];
    let (code, _, _) = repository.common_git().status(&words)?;
    Ok((code == Some(0)).then_some(commit))
}

/// Returns the last commit whose changes were copied to the target, if a branch or tag still
/// contains the copy.
fn taken<'a>(repository: &Repository, record: &'a Record) -> Result<Option<&'a str>, GitError> {
    let (Some(taken), Some(with)) = (&record.taken, &record.taken_as) else {
        return Ok(None);
    };
    let exclude = format!("--exclude={}", record.branch);
    let words = ["rev-list", "--count", with.as_str(), "--not", &exclude];
    let words = [&words[..], &OTHER_REFS].concat();
    // Fails if git has pruned the commit.
    let (code, out, _) = repository.common_git().status(&words)?;
    let is_held = code == Some(0) && out.trim_ascii() == b"0";
    Ok(is_held.then_some(taken.as_str()))
}
