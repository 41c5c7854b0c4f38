//! Which repository a folder belongs to, and whether it is trusted.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use swarm_fs::{LinkedTree, repository_top};
use swarm_worktree::{Git, WorktreeSettings, Worktrees};

use super::TrustFile;
use crate::error::ConfigError;
use crate::hook_folders::worktree_records;

/// Whether the repository whose own things would run for a command in `cwd` may run them: in a worktree of swarm that is
/// the checkout that it was made from. Trust is given to a place, not to what is in it: a
/// repository that changes stays trusted.
///
/// # Errors
/// When the list cannot be read; nothing is trusted then.
pub fn is_trusted(root: &Path, cwd: &Path) -> Result<bool, ConfigError> {
    let trusted = TrustFile::of(root).read()?;
    let top = || nearest_top(&project_folder(root, cwd));
    Ok(!trusted.is_empty() && top().is_some_and(|top| trusted.contains(&top)))
}

/// The canonical top of the repository around `folder`; the folder itself outside of any. A linked worktree belongs to
/// the repository that made it.
pub fn top_of(folder: &Path) -> io::Result<PathBuf> {
    let folder = folder.canonicalize()?;
    let top = repository_top(&folder);
    Ok(main_of(top).unwrap_or_else(|| top.to_owned()))
}

/// The folder in which the hooks of a command in `folder` run: the top of the project, as far as it can be told. `root`
/// is swarm's root folder.
pub fn project_top(root: &Path, folder: &Path) -> PathBuf {
    let folder = project_folder(root, folder);
    nearest_top(&folder).unwrap_or(folder)
}

/// The top of the repository around a folder that may not be there: a branch can have folders that its target has not.
fn nearest_top(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find_map(|above| top_of(above).ok())
}

/// The folder whose hooks, definitions and MCP servers hold for a command in `folder`. In a linked worktree it is the
/// same folder of the main checkout: that is what was trusted, and an agent that has the tree for its own can change
/// every file in it. `root` is swarm's root folder.
pub fn project_folder(root: &Path, folder: &Path) -> PathBuf {
    let folder = outside(root, folder).unwrap_or_else(|| folder.to_owned());
    let of_main = || {
        let folder = folder.canonicalize().ok()?;
        let top = repository_top(&folder);
        let below = folder.strip_prefix(top).ok()?;
        // Joining an empty path would add a slash.
        Some(main_of(top)?.join(below).components().collect())
    };
    of_main().unwrap_or(folder)
}

/// How many worktrees may have been made from one another.
const DEPTH: usize = 32;

/// The same folder of the checkout that a worktree of swarm was made from, and that is no such worktree itself. The
/// records say so, which nobody who works in a tree can write, as its `.git` file can be. No other file of a tree is looked
/// at, so no link in one leads elsewhere.
fn outside(root: &Path, folder: &Path) -> Option<PathBuf> {
    let git = Git::new("git", BTreeMap::new());
    let worktrees = Worktrees::new(git, WorktreeSettings::default(), worktree_records(root));
    // A record that cannot be read is told of by whoever makes or removes worktrees.
    let holding = |folder: &Path| worktrees.find(folder).ok().flatten();
    let folder = folder.canonicalize().ok()?;
    let mut record = holding(&folder)?;
    let mut below = folder.strip_prefix(&record.path).ok()?.to_owned();
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
