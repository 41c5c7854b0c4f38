//! Who makes directories in git's place.

use std::fmt;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use crate::{Owner, Record, Slug};

/// Makes the directories of worktrees, and takes them away. Both block.
pub trait DirectoryMaker: Send + Sync + fmt::Debug {
    /// Whether new directories are its to make; otherwise git makes them.
    fn makes(&self) -> bool;

    /// Makes a directory for an agent whose parent works in `from`; gives its path, which may be relative to the project.
    /// It ends soon after `cancel` has fallen.
    ///
    /// # Errors
    /// Why there is none, in words for a person.
    fn make(
        &self,
        slug: &Slug,
        from: &Path,
        owner: &Owner,
        cancel: &CancellationToken,
    ) -> Result<PathBuf, String>;

    /// Takes away a directory that it has made.
    ///
    /// # Errors
    /// What is in the way, in words for a person.
    fn take_away(&self, record: &Record) -> Result<(), String>;
}
