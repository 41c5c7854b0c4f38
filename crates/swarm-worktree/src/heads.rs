//! Reads the state of a checkout from git's files without running git. The layout is that of
//! gitrepository-layout(5): `.git` of a linked worktree is a file that names its private git
//! directory, which contains `HEAD` and, in `commondir`, the path of the shared git directory.

use std::path::{Path, PathBuf};

use swarm_os::read_optional;

/// The state of a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Top-level directory of the checkout.
    pub toplevel: PathBuf,
    /// Private git directory of the checkout.
    pub git_dir: PathBuf,
    /// Git directory shared by all checkouts of the repository.
    pub common_dir: PathBuf,
    /// The checked-out branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The commit id of HEAD; `None` if it cannot be determined without git.
    pub head: Option<String>,
}

/// Returns the checkout that contains a directory. Returns `None` if there is none or its files are
/// not as expected; run git in that case.
pub fn seen(directory: &Path) -> Option<Seen> {
    let toplevel = directory
        .ancestors()
        .find(|above| above.join(".git").symlink_metadata().is_ok())?;
    look_at(toplevel)
}

/// Like [`seen`], for the top-level directory of a checkout.
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

/// Returns the main branch: the default branch of `origin` when it was cloned, otherwise a local
/// branch named `main` or `master`.
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

/// Reads a regular file. Other files are not opened: reading a pipe would never end.
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

pub(crate) fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
