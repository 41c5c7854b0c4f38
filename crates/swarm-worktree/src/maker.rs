//! Creation of worktree directories by something other than git.

use std::fmt;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use crate::{Owner, Record, Slug};

/// Creates and removes the directories of worktrees. Both operations block.
pub trait DirectoryMaker: Send + Sync + fmt::Debug {
    /// Returns whether this implementation creates new directories; otherwise git does.
    fn makes(&self) -> bool;

    /// Creates a directory for an agent whose parent works in `from`. Returns its path, which may
    /// be relative to the project. Returns soon after `cancel` is triggered.
    ///
    /// # Errors
    /// The reason of the failure, as a message for the user.
    fn make(
        &self,
        slug: &Slug,
        from: &Path,
        owner: &Owner,
        cancel: &CancellationToken,
    ) -> Result<PathBuf, String>;

    /// Removes a directory that it created.
    ///
    /// # Errors
    /// The reason of the failure, as a message for the user.
    fn remove(&self, record: &Record) -> Result<(), String>;
}
