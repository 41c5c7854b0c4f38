//! Commits all files of a checkout without changing its index, branch or stash.

use std::fs;
use std::path::{Path, PathBuf};

use swarm_protocol::word_list;
use uuid::Uuid;

use crate::git::{fields, words};
use crate::hazard::named;
use crate::repository::{Repository, unsuitable};
use crate::view::Checkout;
use crate::{GitError, Result};

/// A temporary index file, removed on drop.
struct TemporaryIndex(PathBuf);

impl Drop for TemporaryIndex {
    fn drop(&mut self) {
        for suffix in ["", ".lock"] {
            let mut path = self.0.clone().into_os_string();
            path.push(suffix);
            if let Err(error) = fs::remove_file(&path)
                && suffix.is_empty()
            {
                tracing::debug!(%error, "could not remove a temporary index");
            }
        }
    }
}

/// Writes the tree of a checkout: tracked and untracked files, and the ignored files in `further`.
pub(crate) fn tree(
    repository: &Repository,
    checkout: &Path,
    further: &[PathBuf],
) -> Result<String> {
    let name = format!("index-{}", Uuid::new_v4());
    let index = TemporaryIndex(repository.own_directory().join(name));
    let viewed = Checkout::at(repository, checkout)?;
    let inner = viewed.inner()?;
    if !inner.is_empty() {
        let why = format!("it contains nested repositories: {}", named(&inner));
        return Err(unsuitable(checkout, why));
    }
    let at = viewed.git().with_index(&index.0).changing();
    at.run(&["read-tree", "HEAD"])?;
    at.run(&const { word_list::<6>("-c advice.addEmbeddedRepo=false add --all -- .") })?;
    if !further.is_empty() {
        let mut words = words!["add", "--force", "--"].to_vec();
        words.extend(further.iter().map(|path| path.as_os_str()));
        at.run(&words)?;
    }
    Ok(at.line(&["write-tree"])?)
}

/// Creates a commit of a tree. The author is swarm if git has no user name.
pub(crate) fn commit(
    repository: &Repository,
    tree: &str,
    parents: &[&str],
    message: &str,
) -> Result<String, GitError> {
    let mut words = vec!["commit-tree", tree];
    for parent in parents {
        words.extend(["-p", parent]);
    }
    words.extend(["-m", message]);
    let at = repository.common_git().changing();
    match at.line(&words) {
        Ok(commit) => Ok(commit),
        Err(error @ GitError::Missing { .. }) => Err(error),
        Err(_) => {
            let mut nameless = vec!["-c", "user.name=swarm", "-c", "user.email=swarm@localhost"];
            nameless.extend(words);
            at.line(&nameless)
        }
    }
}

/// Returns whether the index of the checkout has unresolved conflicts.
pub(crate) fn has_conflicts(repository: &Repository, checkout: &Path) -> Result<bool> {
    let checkout = Checkout::at(repository, checkout)?;
    let out = checkout.git().run(&["ls-files", "-z", "--unmerged"])?;
    Ok(fields(&out).next().is_some())
}
