//! Entries of writable directories that commands cannot change, because they make programs run other
//! programs.

use std::path::{Path, PathBuf};

use swarm_os::WORKTREES_DIRECTORY;
use swarm_os::namespaces::{FixedEntry, FixedKind};

use crate::Confinement;

/// Files of a repository that make git run programs, besides `hooks`.
const GIT_CONFIGURATION: [&str; 2] = ["config", "config.worktree"];

/// Files of a worktree's git directory that name other directories and their configuration.
const WORKTREE_CONFIGURATION: [&str; 3] = ["commondir", "config.worktree", "gitdir"];

/// Files and directories of a project that make swarm or Claude Code run programs.
const PROJECT_CONFIGURATION: [&str; 2] = [".mcp.json", ".claude"];

/// What stays writable below `.claude`: worktrees of other agents, which this one may merge or remove,
/// and notes of agents.
const WRITABLE: [&str; 3] = [
    WORKTREES_DIRECTORY,
    ".claude/agent-memory",
    ".claude/agent-memory-local",
];

/// Returns the entries as they are needed now. A pinned one precedes read-only ones above it, so that
/// it stays writable.
pub(super) fn fixed_entries(confine: &Confinement) -> Vec<FixedEntry> {
    let root = confine.root();
    let mut entries = project_entries(root);
    let dot_git = root.join(".git");
    match dot_git.symlink_metadata() {
        Ok(found) if found.is_dir() => entries.extend(repository_entries(&dot_git)),
        // Names the git directory.
        Ok(_) => entries.push(entry(dot_git, FixedKind::ReadOnly)),
        Err(_) => {}
    }
    if let Some(git) = confine.git() {
        entries.extend(read_only(&git.own, &WORKTREE_CONFIGURATION));
    }
    entries
}

fn entry(path: PathBuf, kind: FixedKind) -> FixedEntry {
    FixedEntry { path, kind }
}

fn read_only(directory: &Path, names: &[&str]) -> impl Iterator<Item = FixedEntry> {
    let paths = names.iter().map(|name| directory.join(name));
    let existing = paths.filter(|path| exists(path));
    existing.map(|path| entry(path, FixedKind::ReadOnly))
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// An empty directory is left alone, so that a repository can be cloned into it.
fn project_entries(root: &Path) -> Vec<FixedEntry> {
    let is_empty = std::fs::read_dir(root).is_ok_and(|mut found| found.next().is_none());
    if is_empty {
        return Vec::new();
    }
    let writable = WRITABLE.map(|name| root.join(name));
    let writable = writable.into_iter().filter(|path| exists(path));
    let writable = writable.map(|path| entry(path, FixedKind::Pinned));
    let configuration = PROJECT_CONFIGURATION
        .map(|name| existing_or_reserved(root.join(name), FixedKind::ReservedDirectory));
    writable.chain(configuration).collect()
}

/// Entries of the git directory of a main checkout. As a mount it cannot be renamed and replaced.
fn repository_entries(git: &Path) -> Vec<FixedEntry> {
    let mut entries = vec![entry(git.to_owned(), FixedKind::Pinned)];
    entries.extend(read_only(git, &GIT_CONFIGURATION));
    entries.push(existing_or_reserved(
        git.join("hooks"),
        FixedKind::ReservedDirectory,
    ));
    let common = git.join("commondir");
    if exists(&common) || !has_own_worktree(git) {
        let kind = FixedKind::ReservedCommonDirectory;
        entries.push(existing_or_reserved(common, kind));
    }
    entries
}

/// Returns a reserved entry if nothing exists there or only a placeholder, which another agent uses or
/// has left; otherwise a read-only one.
fn existing_or_reserved(path: PathBuf, kind: FixedKind) -> FixedEntry {
    let is_missing = !exists(&path);
    let reserved = entry(path, kind);
    if is_missing || reserved.is_placeholder() {
        return reserved;
    }
    entry(reserved.path, FixedKind::ReadOnly)
}

/// Whether the configuration may name a worktree, which git ignores if there is a `commondir`.
fn has_own_worktree(git: &Path) -> bool {
    let config = std::fs::read(git.join("config")).unwrap_or_default();
    let config = String::from_utf8_lossy(&config).to_ascii_lowercase();
    let mut keys = config.lines().filter_map(|line| {
        let (key, _) = line.split_once('=')?;
        key.rsplit(']').next().map(str::trim)
    });
    keys.any(|key| key == "worktree")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn kinds(root: &Path) -> Vec<(String, FixedKind)> {
        let entries = fixed_entries(&Confinement::new(root));
        let named = entries.into_iter().map(|entry| {
            let path = entry.path.strip_prefix(root).unwrap();
            (path.display().to_string(), entry.kind)
        });
        named.collect()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file that only this test sees")]
    fn missing_settings_are_reserved_and_existing_ones_are_read_only() {
        use FixedKind::{Pinned, ReadOnly, ReservedCommonDirectory, ReservedDirectory};
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        assert_eq!(kinds(&root), []);
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::File::create(root.join(".git/config")).unwrap();
        let named = |list: &[(&str, FixedKind)]| {
            let owned = list.iter().map(|(name, kind)| ((*name).to_owned(), *kind));
            owned.collect::<Vec<_>>()
        };
        let expected = [
            (".mcp.json", ReservedDirectory),
            (".claude", ReservedDirectory),
            (".git", Pinned),
            (".git/config", ReadOnly),
            (".git/hooks", ReservedDirectory),
            (".git/commondir", ReservedCommonDirectory),
        ];
        assert_eq!(kinds(&root), named(&expected));
        // Placeholders of another agent.
        for name in [".claude", ".mcp.json", ".git/hooks"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        fs::write(root.join(".git/commondir"), ".\n").unwrap();
        assert_eq!(kinds(&root), named(&expected));
        fs::remove_dir(root.join(".mcp.json")).unwrap();
        fs::create_dir_all(root.join(".git/hooks/inner")).unwrap();
        fs::create_dir_all(root.join(".claude/worktrees")).unwrap();
        fs::File::create(root.join(".mcp.json")).unwrap();
        fs::File::create(root.join(".git/commondir")).unwrap();
        let expected = [
            (".claude/worktrees", Pinned),
            (".mcp.json", ReadOnly),
            (".claude", ReadOnly),
            (".git", Pinned),
            (".git/config", ReadOnly),
            (".git/hooks", ReadOnly),
            (".git/commondir", ReadOnly),
        ];
        assert_eq!(kinds(&root), named(&expected));
    }
}
