//! Which repository a folder belongs to.

use std::io;
use std::path::{Path, PathBuf};

use crate::settings::repository_top;

/// The canonical top of the repository around `folder`; the folder itself outside of any. A linked work tree belongs to
/// the repository that made it.
pub(crate) fn top_of(folder: &Path) -> io::Result<PathBuf> {
    let folder = folder.canonicalize()?;
    let top = repository_top(&folder);
    Ok(main_of(top).unwrap_or_else(|| top.to_owned()))
}

/// The repository that `top` is a linked work tree of. Both sides must say so: a `.git` file is part of what somebody
/// may have been sent, and would otherwise claim the trust of any repository whose path it knows.
fn main_of(top: &Path) -> Option<PathBuf> {
    let link = top.join(".git");
    let text = std::fs::read_to_string(&link).ok()?;
    let named = text.strip_prefix("gitdir:")?.trim();
    let entry = top.join(named).canonicalize().ok()?;
    let worktrees = entry.parent()?;
    let git = worktrees.parent()?;
    if worktrees.file_name()? != "worktrees" || git.file_name()? != ".git" {
        return None;
    }
    let back = std::fs::read_to_string(entry.join("gitdir")).ok()?;
    let back = entry.join(back.trim()).canonicalize().ok()?;
    (back == link.canonicalize().ok()?).then(|| git.parent().map(Path::to_owned))?
}
