//! Finds reasons against removing a worktree. An unknown state counts as a reason.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use swarm_os::OsError;
use swarm_protocol::word_list;

use crate::carry::{is_same_file, listed_by};
use crate::git::{fields, path, text};
use crate::hazard::Hazard;
use crate::record::OUR_LOCK;
use crate::registration::admin;
use crate::repository::Repository;
use crate::view::{Checkout, View};
use crate::{GitError, Record, Result, WorktreeError, recover, usage};

/// Returns all present reasons against removing a worktree.
pub(crate) fn hazards(repository: &Repository, record: &Record) -> Vec<Hazard> {
    let mut found = Vec::new();
    let occupants = &repository.registry.occupants;
    let user = match record.path_here() {
        Some(_) => usage::user_of(record, occupants),
        None => usage::holder(record, occupants),
    };
    match user {
        Ok(None) => {}
        Ok(Some(by)) => found.push(Hazard::InUse(by)),
        Err(why) => found.push(Hazard::Unknown(why)),
    }
    found.extend(locked(repository, record));
    let path = record.path_here();
    let inspected = if path.is_some_and(|path| path.symlink_metadata().is_ok()) {
        inspect(repository, record, &mut found)
    } else {
        commits(repository, record, None, &mut found)
    };
    match inspected {
        Ok(()) => {}
        Err(WorktreeError::Mismatch { why, .. }) => found.push(Hazard::NotAsMade(why)),
        Err(error) => found.push(Hazard::Unknown(reason(&error))),
    }
    found
}

/// Returns the reason why the state is unknown. An agent in a sandbox may also list worktrees, but
/// cannot write the files that git needs for it.
fn reason(error: &WorktreeError) -> String {
    match error {
        WorktreeError::Disk(OsError::Io { path, source, .. })
            if source.kind() == io::ErrorKind::PermissionDenied =>
        {
            let path = path.parent().unwrap_or(path).display();
            format!("{path} is not writable in this sandbox; list the worktrees outside of it")
        }
        WorktreeError::Disk(OsError::Io { source, .. }) => format!("{error}: {source}"),
        _ => error.to_string(),
    }
}

fn inspect(repository: &Repository, record: &Record, found: &mut Vec<Hazard>) -> Result<()> {
    let view = View::open(repository, record)?;
    found.extend(under_way(&view.seen.git_dir));
    let checkout = Checkout::Viewed(view);
    files(repository, record, &checkout, found)?;
    let at = checkout.git();
    let words = ["symbolic-ref", "-q", "HEAD"];
    match at.status(&words)? {
        (Some(0), out, _) => {
            let branch = text(&out);
            let branch = branch.trim().trim_start_matches("refs/heads/");
            if branch != record.branch {
                found.push(Hazard::OtherBranch(branch.to_owned()));
            }
        }
        (Some(1), ..) => found.push(Hazard::Detached),
        (code, _, said) => return Err(at.failed(&words, code, &said).into()),
    }
    let head = at.line(&["rev-parse", "--verify", "HEAD^{commit}"])?;
    commits(repository, record, Some(&head), found)?;
    let own = admin(repository, record).map(|admin| own_refs(&admin));
    let own = own.unwrap_or_default();
    if !own.is_empty() {
        found.push(Hazard::OwnRefs(own));
    }
    Ok(())
}

/// Finds unmerged commits and stashes.
fn commits(
    repository: &Repository,
    record: &Record,
    head: Option<&str>,
    found: &mut Vec<Hazard>,
) -> Result<()> {
    let tip = repository.tip(record)?;
    let tips: Vec<_> = tip.as_deref().into_iter().chain(head).collect();
    if !tips.is_empty() {
        let unmerged = recover::unreachable_elsewhere(repository, record, &tips)?;
        if unmerged > 0 {
            found.push(Hazard::Unmerged(unmerged));
        }
    }
    let all = stashes(repository)?;
    // The two forms of stash descriptions, with the branch of the stash.
    let marks = [
        format!("WIP on {}: ", record.branch),
        format!("On {}: ", record.branch),
    ];
    let stashed = fields(&all)
        .filter(|line| marks.iter().any(|mark| line.starts_with(mark.as_bytes())))
        .count();
    if stashed > 0 {
        found.push(Hazard::Stashed(stashed));
    }
    Ok(())
}

/// The command that lists stashes. It reads the reflog, because `git stash` does not run in a bare
/// repository.
const STASHES: [&str; 8] = word_list(
    "log --no-show-signature --walk-reflogs --first-parent -z --format=%gs refs/stash --",
);

/// Returns the descriptions of all stashes.
fn stashes(repository: &Repository) -> Result<Vec<u8>, GitError> {
    let at = repository.common_git();
    if !at.succeeds(&["show-ref", "--verify", "--quiet", "refs/stash"])? {
        return Ok(Vec::new());
    }
    at.run(&STASHES)
}

/// Returns the private refs of this worktree by their file names.
fn own_refs(admin: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut directories = vec![admin.join("refs")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(path);
            } else if let Ok(name) = path.strip_prefix(admin) {
                names.push(name.display().to_string());
            }
        }
    }
    names
}

/// Finds files that differ from the commit or from their originals.
fn files(
    repository: &Repository,
    record: &Record,
    checkout: &Checkout<'_>,
    found: &mut Vec<Hazard>,
) -> Result<()> {
    let out = checkout.status("--untracked-files=all")?;
    let (mut dirty, mut untracked, mut repositories) = (Vec::new(), Vec::new(), Vec::new());
    for field in fields(&out) {
        let (mark, file) = field.split_at(field.len().min(3));
        if mark != b"?? " {
            dirty.push(text(file));
        } else if file.ends_with(b"/") {
            repositories.push(text(file));
        } else if !is_unchanged_copy(record, &path(file)) {
            untracked.push(text(file));
        }
    }
    // The commits of an initialized submodule are in the private git directory of the worktree.
    let has_modules = admin(repository, record).is_some_and(|admin| admin.join("modules").is_dir());
    if has_modules {
        repositories.push("its submodules".to_owned());
    }
    repositories.extend(checkout.inner()?);
    let changed = changed_listed(repository, record)?;
    let ignored = ignored_on_node(repository, record, checkout, &changed)?;
    let listed: Vec<_> = changed
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    for (files, hazard) in [
        (dirty, Hazard::Dirty as fn(Vec<String>) -> Hazard),
        (untracked, Hazard::Untracked),
        (listed, Hazard::ListedWorktree),
        (ignored, Hazard::Ignored),
        (repositories, Hazard::Repositories),
    ] {
        if !files.is_empty() {
            found.push(hazard(files));
        }
    }
    Ok(())
}

/// Returns whether a file was copied and is the same as its original.
fn is_unchanged_copy(record: &Record, file: &Path) -> bool {
    record.carries(file) && is_same_file(&record.path.join(file), &record.from.join(file))
}

/// Returns the ignored files that were not copied by swarm, without those in `others`, if a node received
/// the repository: nobody looks into the worktree there before it is removed. Several files of one directory
/// are a single entry.
fn ignored_on_node(
    repository: &Repository,
    record: &Record,
    checkout: &Checkout<'_>,
    others: &[PathBuf],
) -> Result<Vec<String>> {
    if !repository.is_received()? {
        return Ok(Vec::new());
    }
    let out = checkout
        .git()
        .run(&const { word_list::<5>("ls-files -z --others --ignored --exclude-standard") })?;
    // A dependency is a directory.
    let is_in_dependency = |file: &Path| {
        let mut carried = record.carried.iter();
        carried.any(|carried| file != carried.path && file.starts_with(&carried.path))
    };
    let files: Vec<_> = fields(&out)
        .map(path)
        .filter(|file| !is_in_dependency(file) && !is_unchanged_copy(record, file))
        .filter(|file| !others.contains(file))
        .collect();
    let groups = files.chunk_by(|one, other| one.iter().next() == other.iter().next());
    let names = groups.map(|group| match group {
        [first, _, ..] => {
            let directory = first.iter().next().unwrap_or_default();
            format!("{}/", Path::new(directory).display())
        }
        _ => group
            .iter()
            .map(|file| file.display().to_string())
            .collect(),
    });
    Ok(names.collect())
}

/// Returns the listed ignored files that differ from those of the original checkout.
pub(crate) fn changed_listed(repository: &Repository, record: &Record) -> Result<Vec<PathBuf>> {
    let include = record.path.join(".worktreeinclude");
    let include = if include.exists() {
        include
    } else {
        record.from.join(".worktreeinclude")
    };
    let mut listed = listed_by(repository, &include, &record.path)?;
    listed.retain(|file| !is_same_file(&record.path.join(file), &record.from.join(file)));
    let dependencies = record
        .carried
        .iter()
        .filter(|carried| carried.how != "copy");
    for carried in dependencies {
        listed.retain(|file| !file.starts_with(&carried.path));
    }
    Ok(listed)
}

/// Returns git's lock, unless it was set by swarm, which tracks the use of the worktree itself.
fn locked(repository: &Repository, record: &Record) -> Option<Hazard> {
    let reason = recover::lock_reason(repository, record)?;
    let reason = reason.trim();
    (!reason.starts_with(OUR_LOCK.trim_end())).then(|| Hazard::Locked(reason.to_owned()))
}

/// Returns the operation of git that is in progress, by the files that git creates for it.
pub(crate) fn under_way(git_dir: &Path) -> Option<Hazard> {
    let marks = [
        ("MERGE_HEAD", "merge"),
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("BISECT_LOG", "bisection"),
    ];
    let (_, what) = marks.iter().find(|(mark, _)| git_dir.join(mark).exists())?;
    Some(Hazard::UnderWay(what))
}
