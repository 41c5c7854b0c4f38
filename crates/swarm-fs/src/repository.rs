//! Where a repository begins.

use std::path::Path;

/// The topmost folder of the repository around `cwd`: the nearest one with a `.git`, be it a folder or a work tree's file.
/// Where there is none, `cwd` itself, since whatever is above may be somebody else's.
pub fn repository_top(cwd: &Path) -> &Path {
    let top = cwd.ancestors().find(|folder| folder.join(".git").exists());
    top.unwrap_or(cwd)
}
