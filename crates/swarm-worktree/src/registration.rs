//! Whether a worktree is registered with git as it was made.
//!
//! Whoever works in a worktree can write its `.git` file and git's directory for it, and with them name programs that git runs
//! as filters, or lead git into another repository. So both are held against the record, which they cannot write.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use swarm_os::read_optional;

use crate::git::{fields, text};
use crate::heads::{Seen, look_at};
use crate::repository::Repository;
use crate::{Record, WorktreeError};

/// Settings that are a worktree's own: which of its files are checked out, and in whose name is committed. None names a
/// program.
const HARMLESS: [&str; 5] = [
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "index.sparse",
    "user.name",
    "user.email",
];

/// What helps when a worktree and git's directory for it do not lead to each other.
const REPAIR: &str = "`git worktree repair`, run in the main checkout, mends it";

/// Git's file with the settings of one worktree alone.
pub(crate) const SETTINGS: &str = "config.worktree";

/// Makes sure, from files alone, that a directory is the worktree of a record: its own files and git's lead to each other, and
/// its settings name nothing that it was not made with.
pub(crate) fn check(repository: &Repository, record: &Record) -> Result<Seen, WorktreeError> {
    let mismatch = |why: String| WorktreeError::Mismatch {
        path: record.path.clone(),
        why,
    };
    if record
        .path
        .symlink_metadata()
        .is_ok_and(|found| found.is_symlink())
    {
        return Err(mismatch("a symbolic link is in its place".to_owned()));
    }
    let seen = look_at(&record.path)
        .ok_or_else(|| mismatch(format!("it has no usable `.git` file; {REPAIR}")))?;
    if seen.common_dir != repository.common {
        let other = seen.common_dir.display();
        let first = if record.path.join(".git").is_dir() {
            "move that directory away; "
        } else {
            ""
        };
        return Err(mismatch(format!(
            "its `.git` belongs to another repository, {other}; {first}{REPAIR}"
        )));
    }
    let admin = admin(repository, record)
        .ok_or_else(|| mismatch("git knows it at another place".to_owned()))?;
    let is_link = |path: &Path| {
        path.symlink_metadata()
            .is_ok_and(|found| found.is_symlink())
    };
    if seen.git_dir != admin || is_link(&record.path.join(".git")) || is_link(&admin) {
        let other = seen.git_dir.display();
        return Err(mismatch(format!(
            "its `.git` file leads to {other}; {REPAIR}"
        )));
    }
    if !leads_back(&admin, &seen.toplevel) {
        return Err(mismatch("git knows it at another place".to_owned()));
    }
    settings(repository, record, &admin)?;
    Ok(seen)
}

/// Git's directory for a worktree of swarm.
pub(crate) fn admin(repository: &Repository, record: &Record) -> Option<PathBuf> {
    let all = repository.common.join("worktrees");
    if let Some(name) = &record.git_directory {
        return Some(all.join(name));
    }
    // While it is being made, git has named its directory and nobody has written that down.
    let directory = record.slug.directory();
    let is_its = |admin: &PathBuf| {
        let name = admin.file_name().unwrap_or_default().to_string_lossy();
        let numbered = name
            .strip_prefix(directory.as_str())
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        let named = fs::read_to_string(admin.join("gitdir"));
        numbered && named.is_ok_and(|named| Path::new(named.trim()).parent() == Some(&record.path))
    };
    let entries = fs::read_dir(all).ok()?;
    entries.flatten().map(|entry| entry.path()).find(is_its)
}

/// Whether git's directory of a worktree names this directory.
pub(crate) fn leads_back(admin: &Path, toplevel: &Path) -> bool {
    let back = read_optional(&admin.join("gitdir")).ok().flatten();
    let back = text(&back.unwrap_or_default());
    let back = Path::new(back.trim()).parent().map(Path::to_owned);
    back.and_then(|back| admin.join(back).canonicalize().ok())
        .is_some_and(|back| back == toplevel)
}

/// The name and the settings under which git has registered a worktree that was just made.
pub(crate) fn note(repository: &Repository, record: &mut Record) -> Result<(), WorktreeError> {
    let Some(admin) = admin(repository, record) else {
        return Ok(());
    };
    let settings = read_optional(&admin.join(SETTINGS))?;
    record.git_settings = settings.map(|bytes| text(&bytes));
    let name = admin.file_name().and_then(OsStr::to_str);
    record.git_directory = name.map(str::to_owned);
    Ok(())
}

/// Refuses settings that the worktree was not made with, unless they are harmless.
fn settings(repository: &Repository, record: &Record, admin: &Path) -> Result<(), WorktreeError> {
    let file = admin.join(SETTINGS);
    let Some(now) = read_optional(&file)? else {
        return Ok(());
    };
    let made_with = record.git_settings.as_deref().unwrap_or_default();
    if now == made_with.as_bytes() {
        return Ok(());
    }
    let before = entries(repository, made_with.as_bytes())?;
    let now = entries(repository, &now)?;
    let is_new = |entry: &&String| {
        let key = entry.split('\n').next().unwrap_or_default();
        !before.contains(*entry) && !HARMLESS.contains(&key)
    };
    let Some(new) = now.iter().find(is_new) else {
        return Ok(());
    };
    let key = new.split('\n').next().unwrap_or_default();
    Err(WorktreeError::Mismatch {
        path: record.path.clone(),
        why: format!(
            "somebody who works in it has set `{key}` in {}, and settings of git can name programs that it runs: look at \
             that file before you run git there, and take out what you do not want",
            file.display()
        ),
    })
}

/// The entries of a file of settings, each as key, line break and value.
fn entries(repository: &Repository, file: &[u8]) -> Result<BTreeSet<String>, WorktreeError> {
    // From the input: the file may be another one in a moment.
    let words = ["config", "--file", "-", "--no-includes", "--list", "-z"];
    let out = repository.common_git().reading(file).run(&words)?;
    Ok(fields(&out).map(text).collect())
}

/// What a view of the worktree has for settings: those it was made with, and which of its files are checked out now.
pub(crate) fn trusted_settings(
    repository: &Repository,
    record: &Record,
    admin: &Path,
) -> Result<Option<String>, WorktreeError> {
    let Some(now) = read_optional(&admin.join(SETTINGS))? else {
        return Ok(record.git_settings.clone());
    };
    let mut trusted = record.git_settings.clone().unwrap_or_default();
    if now == trusted.as_bytes() {
        return Ok(Some(trusted));
    }
    for entry in entries(repository, &now)? {
        let Some((key, value)) = entry.split_once('\n') else {
            continue;
        };
        let section = key.split_once('.');
        if let (Some((section @ ("core" | "index"), name)), "true" | "false") = (section, value)
            && HARMLESS.contains(&key)
        {
            // Writing into a String cannot fail.
            let _infallible = write!(trusted, "\n[{section}]\n\t{name} = {value}\n");
        }
    }
    Ok(Some(trusted))
}
