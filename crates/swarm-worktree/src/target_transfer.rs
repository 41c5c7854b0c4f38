//! The target of a member on another machine on its way there, because its branch conflicts with it.

use std::path::Path;

use swarm_protocol::PublishedBranch;

use crate::bundle::BundleError;
use crate::heads::is_object_id;
use crate::record::short;
use crate::repository::Repository;
use crate::{Result, WorktreeError, Worktrees};

/// A branch of this repository as another machine gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedTarget {
    /// Name of the branch.
    pub branch: String,
    /// Its last commit.
    pub commit: String,
    /// A git bundle of the commits that the receiver lacks.
    pub bundle: Vec<u8>,
}

impl Worktrees {
    /// Returns the target of a published branch for its machine; `None` if it has all commits.
    ///
    /// # Errors
    /// [`WorktreeError::BundleTooLarge`] above `limit` bytes; [`WorktreeError::Git`].
    pub fn export_target(
        &self,
        directory: &Path,
        published: &PublishedBranch,
        limit: u64,
    ) -> Result<Option<ExportedTarget>> {
        let repository = Repository::find(self.git(), self.registry(), directory)?;
        let Some(branch) = published.target.clone() else {
            return Ok(None);
        };
        let Some(commit) = repository.commit_of(&format!("refs/heads/{branch}"))? else {
            return Ok(None);
        };
        let at = repository.common_git();
        if at.succeeds(&["merge-base", "--is-ancestor", &commit, &published.commit])? {
            return Ok(None);
        }
        let known = [published.commit.clone(), published.base.clone()];
        let bundle = repository.bundle(&commit, &known, limit)?;
        Ok(Some(ExportedTarget {
            branch,
            commit,
            bundle,
        }))
    }

    /// Adds a target from another machine to the repository of a worktree. Returns its name, which is
    /// not that of a branch.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn receive_target(&self, worktree: &Path, target: &ExportedTarget) -> Result<String> {
        let not_received = |why: &str| WorktreeError::not_received(short(&target.commit), why);
        let name = format!("refs/swarm/target/{}", target.branch);
        let repository = Repository::find(self.git(), self.registry(), worktree)?;
        let at = repository.common_git().changing();
        let is_name = at.succeeds(&["check-ref-format", &name])?;
        if !is_name || !is_object_id(&target.commit) {
            return Err(not_received("its name or commit is invalid"));
        }
        let added = repository.add_bundle(&target.bundle, &target.commit, |_| Ok(()));
        added.map_err(|error| match error {
            BundleError::Lacks(commit) => {
                not_received(&format!("this machine lacks the commit {}", short(&commit)))
            }
            BundleError::Refused(why) => not_received(why),
            BundleError::Failed(error) => error,
        })?;
        at.run(&["update-ref", &name, &target.commit])?;
        Ok(name)
    }
}
