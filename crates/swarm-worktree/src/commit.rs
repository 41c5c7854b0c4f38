//! Which commit of which repository a directory is at.

use std::path::Path;

use crate::git::text;
use crate::{GitError, Worktrees, seen};

/// A commit of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedOut {
    /// The oldest root commit of its history, which identifies the repository on any machine.
    pub root: String,
    /// The commit that is checked out.
    pub commit: String,
}

impl Worktrees {
    /// Returns what is checked out in a directory; `None` outside of repositories and before the
    /// first commit.
    ///
    /// # Errors
    /// If git cannot be run.
    pub fn checked_out(&self, directory: &Path) -> Result<Option<CheckedOut>, GitError> {
        if seen(directory).is_none() {
            return Ok(None);
        }
        let at = self.git().at(directory);
        let head = ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"];
        let (Some(0), commit, _) = at.status(&head)? else {
            return Ok(None);
        };
        let roots = at.run(&["rev-list", "--max-parents=0", "HEAD"])?;
        let roots = text(&roots);
        Ok(Some(CheckedOut {
            root: roots.lines().last().unwrap_or_default().to_owned(),
            commit: text(commit.trim_ascii_end()),
        }))
    }
}
