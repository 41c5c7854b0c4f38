//! The repository of a directory, and whether it is trusted.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use swarm_os::{LinkedWorktree, repository_top};
use swarm_worktree::{Git, WorktreeSettings, Worktrees};

use super::TrustFile;
use crate::error::ConfigError;
use crate::hook_directories::worktree_records;

/// Returns whether the repository of `cwd` is trusted. For a swarm worktree this is the checkout
/// from which it was created. Trust applies to a path, not to its content: a repository stays
/// trusted when it changes.
///
/// # Errors
/// If the list cannot be read; then nothing is trusted.
pub fn is_trusted(root: &Path, cwd: &Path) -> Result<bool, ConfigError> {
    let trusted = TrustFile::of(root).read()?;
    let top = || nearest_top(&project_directory(root, cwd));
    Ok(!trusted.is_empty() && top().is_some_and(|top| trusted.contains(&top)))
}

/// Returns the canonical top of the repository around `directory`, or the directory itself outside
/// of a repository. A linked worktree belongs to the main repository.
pub fn top_of(directory: &Path) -> io::Result<PathBuf> {
    let directory = directory.canonicalize()?;
    let top = repository_top(&directory);
    Ok(main_of(top).unwrap_or_else(|| top.to_owned()))
}

/// Returns the working directory of hooks for a command in `directory`: the top of the project, if
/// known. `root` is the config directory.
pub fn project_top(root: &Path, directory: &Path) -> PathBuf {
    let directory = project_directory(root, directory);
    nearest_top(&directory).unwrap_or(directory)
}

/// Returns the top of the repository around a directory that may not exist: a branch can have
/// directories that the target branch lacks.
pub(super) fn nearest_top(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().find_map(|above| top_of(above).ok())
}

/// Returns the directory whose hooks, definitions and MCP servers apply to a command in
/// `directory`. In a linked worktree it is the corresponding directory of the main checkout,
/// because that is what the user trusted, and an agent can change every file of its worktree.
/// `root` is the config directory.
pub fn project_directory(root: &Path, directory: &Path) -> PathBuf {
    let directory = outside(root, directory).unwrap_or_else(|| directory.to_owned());
    let of_main = || {
        let directory = directory.canonicalize().ok()?;
        let top = repository_top(&directory);
        let below = directory.strip_prefix(top).ok()?;
        // Joining an empty path would add a slash.
        Some(main_of(top)?.join(below).components().collect())
    };
    of_main().unwrap_or(directory)
}

/// Maximum length of a chain of worktrees created from one another.
const DEPTH: usize = 32;

/// Returns the corresponding directory of the checkout from which a swarm worktree was created. It
/// relies on swarm's records, which agents cannot write, unlike the `.git` file of a worktree. No
/// other file of the worktree is read, so links in it have no effect.
fn outside(root: &Path, directory: &Path) -> Option<PathBuf> {
    let git = Git::new("git", BTreeMap::new());
    let worktrees = Worktrees::new(git, WorktreeSettings::default(), worktree_records(root));
    // Unreadable records are reported when worktrees are created or removed.
    let holding = |directory: &Path| worktrees.find(directory).ok().flatten();
    let directory = directory.canonicalize().ok()?;
    let mut record = holding(&directory)?;
    let mut below = directory.strip_prefix(&record.path).ok()?.to_owned();
    for _ in 0..DEPTH {
        let from = record.from;
        let Some(outer) = holding(&from) else {
            return Some(from.join(below).components().collect());
        };
        below = from.strip_prefix(&outer.path).ok()?.join(below);
        record = outer;
    }
    None
}

/// Returns the main repository of the linked worktree `top`. Both sides must confirm it: otherwise
/// a `.git` file could claim the trust of any repository whose path it knows.
fn main_of(top: &Path) -> Option<PathBuf> {
    LinkedWorktree::of(top)?.main_checkout().map(Path::to_owned)
}
