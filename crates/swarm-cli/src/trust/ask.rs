//! The question that everybody asks.

use std::path::Path;

use super::repository::nearest_top;
use super::{TrustFile, project_folder};
use crate::failure::Failure;

/// Whether the repository whose own things would run for a command in `cwd` may run them: in a work tree of swarm that is
/// the checkout that it was made from. Trust is given to a place, not to what is in it: a
/// repository that changes stays trusted.
///
/// # Errors
/// When the list cannot be read; nothing is trusted then.
pub(crate) fn is_trusted(root: &Path, cwd: &Path) -> Result<bool, Failure> {
    let trusted = TrustFile::of(root).read()?;
    let top = || nearest_top(&project_folder(root, cwd));
    Ok(!trusted.is_empty() && top().is_some_and(|top| trusted.contains(&top)))
}
