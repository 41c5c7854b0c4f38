//! Finds the swarm worktree that contains a path, without trusting files that are writable from
//! inside the worktree. The `.git` file of a worktree and its git directory are writable from
//! inside. The search therefore starts above the worktree, at the main checkout that contains it or
//! in swarm's own registry of worktree directories, and ends at the record in the repository found
//! there. No other file is trusted: it may be part of a clone.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use swarm_os::WORKTREES_DIRECTORY;

use crate::heads::look_at;
use crate::record::{Record, records_of};
use crate::registry::WorktreeRegistry;
use crate::{Result, Slug};

/// A worktree and the repository that it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct EnclosingWorktree {
    /// The git directory shared by all checkouts.
    pub(crate) common: PathBuf,
    pub(crate) record: Record,
    /// The path relative to the worktree.
    pub(crate) below: PathBuf,
}

/// Returns the worktree that contains a path, if any. If worktrees are nested, it is the outermost:
/// the contents of a worktree may be forged by the agent that works in it.
pub(crate) fn find_enclosing(
    registry: &WorktreeRegistry,
    path: &Path,
) -> Result<Option<EnclosingWorktree>> {
    let there = path.ancestors().find_map(|path| path.canonicalize().ok());
    let Some(path) = there else {
        return Ok(None);
    };
    let mut above: Vec<&Path> = path.ancestors().collect();
    above.reverse();
    for tree in above {
        let Some(common) = repository_of(registry, tree)? else {
            continue;
        };
        if let Some(record) = recorded(&common, tree)? {
            let below = path.strip_prefix(tree).unwrap_or(Path::new("")).to_owned();
            return Ok(Some(EnclosingWorktree {
                common,
                record,
                below,
            }));
        }
    }
    Ok(None)
}

/// Returns the repository to which a worktree at this path would belong.
fn repository_of(registry: &WorktreeRegistry, tree: &Path) -> Result<Option<PathBuf>> {
    let Some(outer) = tree.parent() else {
        return Ok(None);
    };
    if outer.ends_with(WORKTREES_DIRECTORY) {
        let main = outer.ancestors().nth(2).and_then(look_at);
        return Ok(main.map(|seen| seen.common_dir));
    }
    registry.repository_of(outer)
}

fn recorded(common: &Path, tree: &Path) -> Result<Option<Record>> {
    let Some(slug) = tree.file_name().and_then(OsStr::to_str) else {
        return Ok(None);
    };
    // The directory is named after the slug, with `+` for each `/`.
    let Ok(slug) = Slug::parse(&slug.replace('+', "/")) else {
        return Ok(None);
    };
    let record = Record::read(&records_of(common), &slug)?;
    let is_it = |record: &Record| record.slug == slug && record.path == tree;
    Ok(record.filter(is_it))
}
