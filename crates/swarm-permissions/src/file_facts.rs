//! What a decision has to know about files, answered by its caller.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// The file system as a decision asks about it. Paths are absolute.
pub trait FileFacts: Debug {
    /// Where a path may lead, with symbolic links and `..` followed as the kernel follows them. In a `pattern`, a
    /// component with a wildcard stands for every entry of its directory. `None` if that cannot be determined.
    fn leads_to(&self, path: &Path, pattern: bool) -> Option<Vec<PathBuf>>;

    /// Whether a file must not be read because it holds secrets. Links in the path are resolved.
    fn is_secret(&self, real: &Path) -> bool;

    /// The files with secrets that lie in this directory, however deep.
    fn secrets_below(&self, real: &Path) -> Vec<PathBuf>;

    /// Whether a file has another name, so that a rule about that name may concern it.
    fn has_other_names(&self, real: &Path) -> bool;

    /// Why git in this directory may start programs of the agent's choice: it does not use the repository and the
    /// configuration that were there when the agent started, or is not run by the program that keeps it from starting
    /// others. `None` if it may not.
    fn git_doubt(&self, directory: &Path) -> Option<&'static str>;

    /// What makes other programs run or obey the content of a file later, if anything does.
    fn runs_later(&self, real: &Path) -> Option<RunsLater>;
}

/// Why the content of a file is run or obeyed later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsLater {
    /// The file or directory name that other programs look for, such as `.husky` or `.bashrc`.
    pub name: String,
    /// Whether it is part of the user's config directory, which no working directory includes.
    pub of_config_directory: bool,
}

/// Files without links and without special names, and git as it was found: for decisions about text alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainFiles;

impl FileFacts for PlainFiles {
    fn leads_to(&self, path: &Path, _pattern: bool) -> Option<Vec<PathBuf>> {
        Some(vec![path.to_owned()])
    }

    fn is_secret(&self, _real: &Path) -> bool {
        false
    }

    fn secrets_below(&self, _real: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    fn has_other_names(&self, _real: &Path) -> bool {
        false
    }

    fn git_doubt(&self, _directory: &Path) -> Option<&'static str> {
        None
    }

    fn runs_later(&self, _real: &Path) -> Option<RunsLater> {
        None
    }
}
