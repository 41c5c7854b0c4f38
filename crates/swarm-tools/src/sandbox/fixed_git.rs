//! Entries of a repository that commands cannot change: they make git run other programs, or others
//! depend on them.

use std::path::{Path, PathBuf};

use swarm_os::namespaces::{FixedEntry, FixedKind};
use swarm_os::{LinkedWorktree, WORKTREES_DIRECTORY};

use super::fixed_entry::{entry, existing_or_reserved, exists, read_only};

/// Files of a repository that make git run programs, besides `hooks`.
const GIT_CONFIGURATION: [&str; 2] = ["config", "config.worktree"];

/// Files of a worktree's git directory that name other directories and their configuration.
const WORKTREE_CONFIGURATION: [&str; 3] = ["commondir", "config.worktree", "gitdir"];

/// Entries of the git directory of a main checkout. As a mount it cannot be renamed and replaced.
pub(super) fn repository_entries(git: &Path, writable: &[PathBuf]) -> Vec<FixedEntry> {
    let mut entries = vec![entry(git.to_owned(), FixedKind::Pinned)];
    entries.extend(read_only(git, &GIT_CONFIGURATION));
    entries.push(existing_or_reserved(
        git.join("hooks"),
        FixedKind::ReservedDirectory,
    ));
    let common = git.join("commondir");
    // Git ignores the worktree that a configuration names if there is a `commondir`.
    if exists(&common) || !configured(git, "worktree") {
        let kind = FixedKind::ReservedCommonDirectory;
        entries.push(existing_or_reserved(common, kind));
    }
    entries.extend(branches_elsewhere(git, git, writable));
    entries
}

/// Entries of the repository of an agent's own worktree.
pub(super) fn own_worktree_entries(git: &LinkedWorktree, writable: &[PathBuf]) -> Vec<FixedEntry> {
    let mut entries: Vec<_> = read_only(&git.own, &WORKTREE_CONFIGURATION).collect();
    entries.extend(branches_elsewhere(&git.common, &git.own, writable));
    entries.extend(pack_entries(&git.common.join("objects")));
    entries
}

/// Returns the branches that are checked out in other worktrees, as far as they have files, with their
/// directories. In a worktree that this agent can write, it can also commit.
fn branches_elsewhere(common: &Path, own: &Path, writable: &[PathBuf]) -> Vec<FixedEntry> {
    let others = linked_worktrees(&common.join("worktrees")).into_iter();
    let others = others.filter(|(top, _)| !is_below(top, writable));
    let directories = others.map(|(_, git)| git).chain([common.to_owned()]);
    let checked_out = directories
        .filter(|directory| directory != own)
        .filter_map(|directory| std::fs::read_to_string(directory.join("HEAD")).ok());
    let heads = common.join("refs/heads");
    let (mut pinned, mut branches) = (Vec::new(), Vec::new());
    for head in checked_out {
        let Some(name) = head.strip_prefix("ref: refs/heads/").map(str::trim_end) else {
            continue;
        };
        let file = heads.join(name);
        // The file of a worktree's agent may say anything.
        let leads_out = !file.starts_with(&heads) || name.split('/').any(|part| part == "..");
        if leads_out || !file.is_file() {
            continue;
        }
        let above = file.ancestors().skip(1);
        let above = above.take_while(|directory| directory.starts_with(&heads));
        pinned.extend(above.map(|directory| entry(directory.to_owned(), FixedKind::Pinned)));
        branches.push(entry(file, FixedKind::ReadOnly));
    }
    // The outer ones first.
    pinned.sort_by(|one, other| one.path.cmp(&other.path));
    pinned.dedup();
    pinned.extend(branches);
    pinned
}

/// Packed objects of a repository, which git never changes, and what names other object directories.
fn pack_entries(objects: &Path) -> Vec<FixedEntry> {
    let directory = objects.join("pack");
    if !exists(&directory) {
        return Vec::new();
    }
    let found = std::fs::read_dir(&directory)
        .into_iter()
        .flatten()
        .flatten();
    let packs = found.map(|file| file.path()).filter(|path| {
        let extension = path.extension().unwrap_or_default();
        extension == "pack" || extension == "idx"
    });
    let mut packs: Vec<_> = packs.map(|path| entry(path, FixedKind::ReadOnly)).collect();
    packs.sort_by(|one, other| one.path.cmp(&other.path));
    packs.insert(0, entry(directory, FixedKind::Pinned));
    packs.extend(read_only(objects, &["info"]));
    packs
}

/// Returns what connects the worktrees of other agents and other linked worktrees with the repository:
/// entries of their checkouts, which are below a read-only directory, and entries in `.git`. A worktree
/// that this agent can write anyway, unless it is another agent's, stays removable.
pub(super) fn worktree_entries(
    root: &Path,
    git: &Path,
    writable: &[PathBuf],
) -> (Vec<FixedEntry>, Vec<FixedEntry>) {
    let (mut checkouts, mut in_git) = (Vec::new(), Vec::new());
    let of_agents = root.join(WORKTREES_DIRECTORY);
    if exists(&of_agents) {
        checkouts.push(entry(of_agents.clone(), FixedKind::Pinned));
    }
    let directory = git.join("worktrees");
    for (top, own) in linked_worktrees(&directory) {
        if top.starts_with(&of_agents) {
            checkouts.push(entry(top.clone(), FixedKind::Pinned));
            checkouts.extend(read_only(&top, &[".git"]));
        } else if is_below(&top, writable) {
            continue;
        }
        if in_git.is_empty() {
            in_git.push(entry(directory.clone(), FixedKind::Pinned));
        }
        in_git.extend(own_entries(git, own));
    }
    (checkouts, in_git)
}

fn is_below(path: &Path, directories: &[PathBuf]) -> bool {
    directories
        .iter()
        .any(|directory| path.starts_with(directory))
}

/// Returns the linked worktrees whose checkout exists, with their git directories.
fn linked_worktrees(directory: &Path) -> Vec<(PathBuf, PathBuf)> {
    let found = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let linked = found.filter_map(|own| {
        let named = std::fs::read_to_string(own.path().join("gitdir")).ok()?;
        let file = own.path().join(named.trim_end()).canonicalize().ok()?;
        let top = file.parent()?.to_owned();
        let git = LinkedWorktree::of(&top)?;
        (git.own == own.path()).then_some((top, git.own))
    });
    let mut linked: Vec<_> = linked.collect();
    linked.sort();
    linked
}

/// A file that does not exist cannot be protected, so the whole directory is.
fn own_entries(git: &Path, own: PathBuf) -> Vec<FixedEntry> {
    let names = configured(git, "worktreeconfig");
    if names && !exists(&own.join("config.worktree")) {
        return vec![entry(own, FixedKind::ReadOnly)];
    }
    let files = read_only(&own, &WORKTREE_CONFIGURATION).collect::<Vec<_>>();
    let mut entries = vec![entry(own, FixedKind::Pinned)];
    entries.extend(files);
    entries
}

/// Whether the configuration of a repository may have a value for a key.
fn configured(git: &Path, wanted: &str) -> bool {
    let config = std::fs::read(git.join("config")).unwrap_or_default();
    let config = String::from_utf8_lossy(&config).to_ascii_lowercase();
    let mut keys = config.lines().filter_map(|line| {
        let (key, _) = line.split_once('=')?;
        key.rsplit(']').next().map(str::trim)
    });
    keys.any(|key| key == wanted)
}
