//! Verifies that a worktree is still registered with git as it was created. An agent in a worktree
//! can write its `.git` file and its git directory. It could configure programs that git runs as
//! filters, or redirect git to another repository. Both are therefore compared with the record,
//! which the agent cannot write.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use swarm_os::read_optional;
use swarm_protocol::word_list;

use crate::git::{fields, text};
use crate::heads::{Seen, look_at};
use crate::repository::Repository;
use crate::{Record, Result, WorktreeError};

/// Settings that an agent may change in its worktree: sparse checkout and author. None of them
/// names a program.
const HARMLESS: [&str; 5] =
    word_list("core.sparsecheckout core.sparsecheckoutcone index.sparse user.name user.email");

/// Hint for a worktree and a git directory that do not refer to each other.
const REPAIR: &str = "`git worktree repair`, run in the main checkout, fixes it";

/// File with the settings of a single worktree, in its git directory.
pub(crate) const SETTINGS: &str = "config.worktree";

/// Verifies without running git in it that a directory is the worktree of a record: worktree and
/// git directory refer to each other, and no setting was added.
pub(crate) fn check(repository: &Repository, record: &Record) -> Result<Seen> {
    let mismatch = |why: String| WorktreeError::Mismatch {
        path: record.path.clone(),
        why,
    };
    if record.path.is_symlink() {
        return Err(mismatch("it was replaced by a symbolic link".to_owned()));
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
        .ok_or_else(|| mismatch("git has it registered at another path".to_owned()))?;
    if seen.git_dir != admin || record.path.join(".git").is_symlink() || admin.is_symlink() {
        let other = seen.git_dir.display();
        return Err(mismatch(format!(
            "its `.git` file points to {other}; {REPAIR}"
        )));
    }
    if !leads_back(&admin, &seen.toplevel) {
        return Err(mismatch("git has it registered at another path".to_owned()));
    }
    settings(repository, record, &admin)?;
    Ok(seen)
}

/// Returns the git directory of a worktree.
pub(crate) fn admin(repository: &Repository, record: &Record) -> Option<PathBuf> {
    let all = repository.common.join("worktrees");
    if let Some(name) = &record.git_directory {
        return Some(all.join(name));
    }
    // While a worktree is being created, git has already named its directory but it is not recorded
    // yet.
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

/// Returns whether the git directory of a worktree names this top-level directory.
pub(crate) fn leads_back(admin: &Path, toplevel: &Path) -> bool {
    let back = read_optional(&admin.join("gitdir")).ok().flatten();
    let back = text(&back.unwrap_or_default());
    let back = Path::new(back.trim()).parent().map(Path::to_owned);
    back.and_then(|back| admin.join(back).canonicalize().ok())
        .is_some_and(|back| back == toplevel)
}

/// Adds the name and the settings under which git registered a new worktree to its record.
pub(crate) fn note(repository: &Repository, record: &mut Record) -> Result<()> {
    let Some(admin) = admin(repository, record) else {
        return Ok(());
    };
    let settings = read_optional(&admin.join(SETTINGS))?;
    record.git_settings = settings.map(|bytes| text(&bytes));
    let name = admin.file_name().and_then(OsStr::to_str);
    record.git_directory = name.map(str::to_owned);
    Ok(())
}

/// Refuses settings that were added after the creation of the worktree, unless they are in
/// [`HARMLESS`].
fn settings(repository: &Repository, record: &Record, admin: &Path) -> Result<()> {
    let file = admin.join(SETTINGS);
    let Some(now) = read_optional(&file)? else {
        return Ok(());
    };
    let original = record.git_settings.as_deref().unwrap_or_default();
    if now == original.as_bytes() {
        return Ok(());
    }
    let before = entries(repository, original.as_bytes())?;
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
            "`{key}` was set in {} after the worktree was created, and git settings can name programs that git runs: check \
 that file before you run git there, and remove unwanted settings",
            file.display()
        ),
    })
}

/// Returns the entries of a settings file, each as key, line break and value.
fn entries(repository: &Repository, file: &[u8]) -> Result<BTreeSet<String>> {
    // From stdin, because the file may be replaced at any moment.
    let words = ["config", "--file", "-", "--no-includes", "--list", "-z"];
    let out = repository.common_git().reading(file).run(&words)?;
    Ok(fields(&out).map(text).collect())
}

/// Returns the trusted settings: those at the creation of the worktree, and its present sparse
/// checkout.
pub(crate) fn trusted_settings(
    repository: &Repository,
    record: &Record,
    admin: &Path,
) -> Result<Option<String>> {
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
