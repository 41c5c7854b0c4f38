//! The question that everybody asks.

use std::path::Path;

use super::{TrustFile, top_of};
use crate::failure::Failure;

/// Whether the repository around `cwd` may run what is its own. Trust is given to a place, not to what is in it: a
/// repository that changes stays trusted.
///
/// # Errors
/// When the list cannot be read; nothing is trusted then.
pub(crate) fn is_trusted(root: &Path, cwd: &Path) -> Result<bool, Failure> {
    let trusted = TrustFile::of(root).read()?;
    Ok(!trusted.is_empty() && top_of(cwd).is_ok_and(|top| trusted.contains(&top)))
}
