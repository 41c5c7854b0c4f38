//! Which of swarm's worktrees a path lies in, told by nothing that whoever works there can write.
//!
//! The `.git` file of a worktree and git's directory for it are writable from inside. So the way begins above the worktree:
//! at the main checkout that it lies in, or in swarm's own list of places, and ends at the record in the repository found
//! there. No other file says anything: a clone may bring it along.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use swarm_os::WORK_TREES;

use crate::heads::look_at;
use crate::places::Places;
use crate::record::{Record, records_of};
use crate::{Slug, WorktreeError};

/// A worktree and the repository that it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Anchored {
    /// Git's directory for all checkouts.
    pub(crate) common: PathBuf,
    /// What is known of the worktree.
    pub(crate) record: Record,
    /// Where the path is below the worktree.
    pub(crate) below: PathBuf,
}

/// The worktree that holds a path, if one does. Of worktrees in one another it is the outermost: what lies in a worktree may
/// be made up by whoever works there.
pub(crate) fn anchored(places: &Places, path: &Path) -> Result<Option<Anchored>, WorktreeError> {
    let there = path.ancestors().find_map(|path| path.canonicalize().ok());
    let Some(path) = there else {
        return Ok(None);
    };
    let mut above: Vec<&Path> = path.ancestors().collect();
    above.reverse();
    for tree in above {
        let Some(common) = repository_of(places, tree)? else {
            continue;
        };
        if let Some(record) = recorded(&common, tree)? {
            let below = path.strip_prefix(tree).unwrap_or(Path::new("")).to_owned();
            return Ok(Some(Anchored {
                common,
                record,
                below,
            }));
        }
    }
    Ok(None)
}

/// The repository whose worktree a directory would be by the place where it lies.
fn repository_of(places: &Places, tree: &Path) -> Result<Option<PathBuf>, WorktreeError> {
    let Some(outer) = tree.parent() else {
        return Ok(None);
    };
    if outer.ends_with(WORK_TREES) {
        let main = outer.ancestors().nth(2).and_then(look_at);
        return Ok(main.map(|seen| seen.common_dir));
    }
    places.repository_of(outer)
}

/// The record of the worktree at a path.
fn recorded(common: &Path, tree: &Path) -> Result<Option<Record>, WorktreeError> {
    let Some(slug) = tree.file_name().and_then(OsStr::to_str) else {
        return Ok(None);
    };
    // Its directory has its name, with `+` for each `/`.
    let Ok(slug) = Slug::parse(&slug.replace('+', "/")) else {
        return Ok(None);
    };
    let record = Record::read(&records_of(common), &slug)?;
    let is_it = |record: &Record| record.slug == slug && record.path == tree;
    Ok(record.filter(is_it))
}
