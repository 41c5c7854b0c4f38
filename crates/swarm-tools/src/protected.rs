//! What file tools leave alone in every mode.

use std::path::{Path, PathBuf};

/// Paths that no file tool writes to, and those that none reads.
#[derive(Debug, Clone, Default)]
pub struct ProtectedPaths {
    root: PathBuf,
    hidden: Vec<PathBuf>,
}

impl ProtectedPaths {
    /// Protects what the state folder `root` holds, and what every repository holds that steers an agent.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            hidden: Vec::new(),
        }
    }

    /// Also forbids reading `path` and everything under it: files that carry secrets.
    #[must_use]
    pub fn hide(mut self, path: &Path) -> Self {
        self.hidden.push(path.to_owned());
        self
    }
}
