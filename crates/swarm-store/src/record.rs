//! Reading and writing whole JSON files.

use std::path::PathBuf;

/// A file that is not what its name says. It is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenFile {
    /// Where it is.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}
