//! Facts about files that decisions need, provided by the caller.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// The file system as seen by a decision. Paths are absolute.
pub trait FileFacts: Debug {
    /// Returns where a path may lead, resolving symbolic links and `..` like the kernel. In a
    /// `pattern`, a component with a wildcard expands to every entry of its directory. `None` if
    /// this cannot be determined.
    fn leads_to(&self, path: &Path, pattern: bool) -> Option<Vec<PathBuf>>;

    /// Returns whether a file holds secrets and must not be read. Links in the path are resolved.
    fn is_secret(&self, real: &Path) -> bool;

    /// Returns the files with secrets below this directory, at any depth.
    fn secrets_below(&self, real: &Path) -> Vec<PathBuf>;

    /// Returns whether a file has another name (hard link), to which a rule may apply.
    fn has_other_names(&self, real: &Path) -> bool;

    /// Returns why git in this directory might start programs chosen by the agent: it does not use
    /// the repository and configuration that existed when the agent started, or is not run through
    /// the wrapper that prevents this. `None` if it cannot.
    fn git_doubt(&self, directory: &Path) -> Option<&'static str>;

    /// Returns why other programs would execute or obey the content of a file later, if they do.
    fn runs_later(&self, real: &Path) -> Option<RunsLater>;
}

/// Why the content of a file is executed or obeyed later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsLater {
    /// The file or directory name that other programs look for, such as `.husky` or `.bashrc`.
    pub name: String,
    /// Whether it is in the user's config directory, which is never part of a working directory.
    pub of_config_directory: bool,
}

/// A file system without links, secrets or special names, and a trusted git, for decisions based on
/// text alone.
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
