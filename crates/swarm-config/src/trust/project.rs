//! The project of a directory, found once and handed on.

use std::path::{Path, PathBuf};

use super::TrustFile;
use super::repository::{nearest_top, project_directory};
use crate::error::ConfigError;

/// The project of a directory. Finding it reads the records of worktrees and the list of trusted
/// repositories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The directory whose hooks, definitions and MCP servers apply: [`project_directory`].
    pub directory: PathBuf,
    /// The working directory of hooks: [`super::project_top`].
    pub top: PathBuf,
    /// Whether its repository is trusted: [`super::is_trusted`].
    pub is_trusted: bool,
}

impl Project {
    /// Finds the project of a command in `cwd`. `root` is the config directory.
    ///
    /// # Errors
    /// If the list of trusted repositories cannot be read.
    pub fn of(root: &Path, cwd: &Path) -> Result<Self, ConfigError> {
        let trusted = TrustFile::of(root).read()?;
        let project = Self::untrusted(root, cwd);
        Ok(Self {
            is_trusted: trusted.contains(&project.top),
            ..project
        })
    }

    /// Finds the project, and does not trust it.
    pub fn untrusted(root: &Path, cwd: &Path) -> Self {
        let directory = project_directory(root, cwd);
        Self {
            top: nearest_top(&directory).unwrap_or_else(|| directory.clone()),
            directory,
            is_trusted: false,
        }
    }
}
