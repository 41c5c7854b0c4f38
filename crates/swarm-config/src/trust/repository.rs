//! Which repository a directory belongs to, and whether it is trusted.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use swarm_os::{LinkedTree, repository_top};
use swarm_worktree::{Git, WorktreeSettings, Worktrees};

use super::TrustFile;
use crate::error::ConfigError;
use crate::hook_directories::worktree_records;

/// Whether the repository whose own things would run for a command in `cwd` may run them: in a worktree of swarm that is
/// the checkout that it was made from. Trust is given to a place, not to what is in it: a
/// repository that changes stays trusted.
///
/// # Errors
/// When the list cannot be read; nothing is trusted then.
pub fn is_trusted(root: &Path, cwd: &Path) -> Result<bool, ConfigError> {
    let trusted = TrustFile::of(root).read()?;
    let top = || nearest_top(&project_directory(root, cwd));
    Ok(!trusted.is_empty() && top().is_some_and(|top| trusted.contains(&top)))
}

/// The canonical top of the repository around `directory`; the directory itself outside of any. A linked worktree belongs to
/// the repository that made it.
pub fn top_of(directory: &Path) -> io::Result<PathBuf> {
    let directory = directory.canonicalize()?;
    let top = repository_top(&directory);
    Ok(main_of(top).unwrap_or_else(|| top.to_owned()))
}

/// The directory in which the hooks of a command in `directory` run: the top of the project, as far as it can be told. `root`
/// is swarm's config directory.
pub fn project_top(root: &Path, directory: &Path) -> PathBuf {
    let directory = project_directory(root, directory);
    nearest_top(&directory).unwrap_or(directory)
}

/// The top of the repository around a directory that may not be there: a branch can have directories that its target has not.
fn nearest_top(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().find_map(|above| top_of(above).ok())
}

/// The directory whose hooks, definitions and MCP servers hold for a command in `directory`. In a linked worktree it is the
/// same directory of the main checkout: that is what was trusted, and an agent that has the tree for its own can change
/// every file in it. `root` is swarm's config directory.
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

/// How many worktrees may have been made from one another.
const DEPTH: usize = 32;

/// The same directory of the checkout that a worktree of swarm was made from, and that is no such worktree itself. The
/// records say so, which nobody who works in a tree can write, as its `.git` file can be. No other file of a tree is looked
/// at, so no link in one leads elsewhere.
fn outside(root: &Path, directory: &Path) -> Option<PathBuf> {
    let git = Git::new("git", BTreeMap::new());
    let worktrees = Worktrees::new(git, WorktreeSettings::default(), worktree_records(root));
    // A record that cannot be read is told of by whoever makes or removes worktrees.
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

/// The repository that `top` is a linked worktree of. Both sides must say so: a `.git` file would otherwise claim the
/// trust of any repository whose path it knows.
fn main_of(top: &Path) -> Option<PathBuf> {
    LinkedTree::of(top)?.main_checkout().map(Path::to_owned)
}
