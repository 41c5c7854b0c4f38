//! Entries of writable directories that commands cannot change, because they make programs run other
//! programs.

use std::path::{Path, PathBuf};

use swarm_os::namespaces::{FixedEntry, FixedKind, LeftPlaceholder};

use super::fixed_entry::{entry, existing_or_reserved, exists, read_only};
use super::fixed_git::{own_worktree_entries, repository_entries, worktree_entries};
use crate::Confinement;
use crate::files::{PROGRAM_DIRECTORIES, PROGRAM_FILES, PROJECT_CONFIGURATION};

/// What stays writable below `.claude`, besides worktrees of agents: their notes.
const WRITABLE: [&str; 2] = [".claude/agent-memory", ".claude/agent-memory-local"];

/// Returns the entries as they are needed now. A pinned one precedes read-only ones above it, so that
/// it stays writable.
pub(super) fn fixed_entries(confine: &Confinement, writable: &[PathBuf]) -> Vec<FixedEntry> {
    let root = confine.root();
    let dot_git = root.join(".git");
    let (mut entries, in_git) = worktree_entries(root, &dot_git, writable);
    entries.extend(project_entries(root));
    match dot_git.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            entries.extend(repository_entries(&dot_git, writable));
            entries.extend(in_git);
        }
        // Names the git directory.
        Ok(_) => entries.push(entry(dot_git, FixedKind::ReadOnly)),
        Err(_) => {}
    }
    if let Some(git) = confine.git() {
        entries.extend(own_worktree_entries(git, writable));
    }
    entries
}

/// Returns the placeholders in an agent's working directory that a killed sandbox has left.
pub fn left_placeholders(cwd: &Path) -> Vec<LeftPlaceholder> {
    let entries = fixed_entries(&Confinement::new(cwd), &[cwd.to_owned()]);
    entries.iter().filter_map(LeftPlaceholder::of).collect()
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
    let configuration = PROJECT_CONFIGURATION.into_iter().chain(PROGRAM_DIRECTORIES);
    let configuration = configuration
        .map(|name| existing_or_reserved(root.join(name), FixedKind::ReservedDirectory));
    // Not reserved: git does not replace a file that holds the place of one that a merge adds.
    let files = read_only(root, &PROGRAM_FILES);
    writable.chain(configuration).chain(files).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::ProtectedPaths;

    fn kinds(root: &Path) -> Vec<(String, FixedKind)> {
        let entries = fixed_entries(&Confinement::new(root), &[root.to_owned()]);
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
            (".codex", ReservedDirectory),
            (".gemini", ReservedDirectory),
            (".opencode", ReservedDirectory),
            (".qwen", ReservedDirectory),
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
        fs::File::create(root.join("opencode.json")).unwrap();
        fs::create_dir_all(root.join(".gemini/commands")).unwrap();
        fs::File::create(root.join(".git/commondir")).unwrap();
        let expected = [
            (".claude/worktrees", Pinned),
            (".mcp.json", ReadOnly),
            (".claude", ReadOnly),
            (".codex", ReservedDirectory),
            (".gemini", ReadOnly),
            (".opencode", ReservedDirectory),
            (".qwen", ReservedDirectory),
            ("opencode.json", ReadOnly),
            (".git", Pinned),
            (".git/config", ReadOnly),
            (".git/hooks", ReadOnly),
            (".git/commondir", ReadOnly),
        ];
        assert_eq!(kinds(&root), named(&expected));
    }

    #[test]
    fn file_tools_refuse_the_same_names() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        fs::create_dir(root.join("src")).unwrap();
        let tools = ProtectedPaths::new(Path::new("/no/state"));
        for (name, _) in kinds(&root) {
            let path = root.join(&name);
            let settings = path.join("settings.json");
            let is_refused = |path: &Path| tools.write_refusal(path).is_some();
            assert!(is_refused(&path) || is_refused(&settings), "{name}");
        }
    }
}
