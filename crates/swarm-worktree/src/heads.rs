//! Where a checkout stands, read from git's files without running git.
//!
//! The layout is that of gitrepository-layout(5): `.git` of a linked worktree is a file that names its own directory, which
//! holds `HEAD` and, in `commondir`, the way to everything that all worktrees have in common.

use std::path::{Path, PathBuf};

use swarm_os::read_optional;

/// Where a checkout stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its uppermost directory.
    pub toplevel: PathBuf,
    /// Git's directory for this checkout alone.
    pub git_dir: PathBuf,
    /// Git's directory for all checkouts of the repository.
    pub common_dir: PathBuf,
    /// The branch that is checked out; `None` when none is.
    pub branch: Option<String>,
    /// The commit. `None` when it cannot be told without git.
    pub head: Option<String>,
}

/// The checkout that a directory belongs to. `None` when there is none, or its files are not as they should be: git must be
/// asked then.
pub fn seen(directory: &Path) -> Option<Seen> {
    let toplevel = directory
        .ancestors()
        .find(|above| above.join(".git").symlink_metadata().is_ok())?;
    look_at(toplevel)
}

/// The same for the uppermost directory itself.
pub(crate) fn look_at(toplevel: &Path) -> Option<Seen> {
    let dot_git = toplevel.join(".git");
    let git_dir = if dot_git.is_dir() {
        dot_git
    } else {
        let named = read(&dot_git)?;
        toplevel.join(named.strip_prefix("gitdir:")?.trim())
    };
    let common_dir = match read(&git_dir.join("commondir")) {
        Some(common) => git_dir.join(common.trim()),
        None => git_dir.clone(),
    };
    let canonical = |path: &Path| path.canonicalize().ok();
    let (git_dir, common_dir) = (canonical(&git_dir)?, canonical(&common_dir)?);
    let head = read(&git_dir.join("HEAD"))?;
    let head = head.trim();
    let (branch, head) = match head.strip_prefix("ref: ") {
        Some(name) => (
            name.strip_prefix("refs/heads/").map(str::to_owned),
            resolve(&common_dir, name),
        ),
        None => (None, Some(head.to_owned())),
    };
    Some(Seen {
        toplevel: canonical(toplevel)?,
        git_dir,
        common_dir,
        branch,
        head: head.filter(|head| is_object_id(head)),
    })
}

/// The branch that others begin from and merge into: the default branch of `origin` as it was cloned, or else a local one
/// of the usual names.
pub(crate) fn main_branch(common: &Path) -> Option<String> {
    let remote = read(&common.join("refs/remotes/origin/HEAD"));
    let named = remote.as_deref().and_then(|head| {
        let name = head.trim().strip_prefix("ref: refs/remotes/origin/")?;
        let is_name = !name.is_empty() && !name.chars().any(char::is_control);
        is_name.then(|| name.to_owned())
    });
    named.or_else(|| {
        let mut usual = ["main", "master"].into_iter();
        let exists = |name: &&str| resolve(common, &format!("refs/heads/{name}")).is_some();
        usual.find(exists).map(str::to_owned)
    })
}

/// The text of a regular file. What else may stand in its place is not opened: a pipe would never be read to its end.
fn read(path: &Path) -> Option<String> {
    String::from_utf8(read_optional(path).ok()??).ok()
}

fn resolve(common: &Path, name: &str) -> Option<String> {
    if let Some(text) = read(&common.join(name)) {
        return Some(text.trim().to_owned());
    }
    let packed = read(&common.join("packed-refs"))?;
    let line = packed.lines().find(|line| {
        line.split_once(' ')
            .is_some_and(|(_, packed)| packed == name)
    })?;
    line.split_once(' ').map(|(id, _)| id.to_owned())
}

fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
