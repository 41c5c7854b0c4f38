//! Saves the work in a worktree before a forced removal.

use std::path::{Path, PathBuf};

use swarm_os::replace_in_private_dir;
use swarm_protocol::{UnixMs, word_list};

use crate::inspect::changed_listed;
use crate::repository::Repository;
use crate::view::View;
use crate::{Record, Result, snapshot};

/// Where the work of a removed worktree was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescue {
    /// A ref to a commit with all its files, on top of its own commits.
    pub reference: String,
    /// A file with the difference to its base commit, for `git apply`.
    pub patch: PathBuf,
}

/// Writes ref and patch. The worktree is only removed if this succeeds.
pub(crate) fn rescue(repository: &Repository, record: &Record, now: UnixMs) -> Result<Rescue> {
    let (commit, head) = if record.path_here().is_some_and(Path::is_dir) {
        let view = View::open(repository, record)?;
        let head = view
            .git()
            .line(&["rev-parse", "--verify", "HEAD^{commit}"])?;
        let further = changed_listed(repository, record)?;
        let tree = snapshot::tree(repository, &record.path, &further)?;
        let message = format!("Rescued from the worktree {}", record.slug);
        let tip = repository.tip(record)?;
        let mut parents = vec![head.as_str()];
        parents.extend(tip.as_deref().filter(|tip| *tip != head));
        (
            snapshot::commit(repository, &tree, &parents, &message)?,
            head,
        )
    } else {
        // Only its branch remains.
        let tip = repository.tip(record)?;
        let tip = tip.unwrap_or_else(|| record.base.sha.clone());
        (tip.clone(), tip)
    };
    tracing::info!(slug = %record.slug, %commit, %head, "worktree rescued");
    let stamp = stamp(now);
    let name = format!("{}-{stamp}", record.slug.directory());
    let reference = format!("refs/swarm/rescue/{name}");
    let changing = repository.common_git().changing();
    changing.run(&["update-ref", "--create-reflog", &reference, &commit])?;
    let words = const {
        word_list::<6>("diff --binary --full-index --no-color --no-ext-diff --no-textconv")
    };
    let words = [&words[..], &[&record.base.sha, &commit]].concat();
    let diff = repository.common_git().run(&words)?;
    let directory = repository.own_directory().join("rescue");
    let patch = directory.join(format!("{name}.patch"));
    replace_in_private_dir(&patch, &diff)?;
    Ok(Rescue { reference, patch })
}

/// Formats a time for file names: `20260101T120000123Z`.
fn stamp(now: UnixMs) -> String {
    let iso = now.iso();
    iso.as_str()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect()
}
