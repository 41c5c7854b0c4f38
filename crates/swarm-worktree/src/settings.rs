//! How worktrees are made.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What becomes of changes in the caller's checkout that no commit holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Uncommitted {
    /// No worktree is made.
    #[default]
    Refuse,
    /// They are taken along as a commit of their own, at which the worktree begins.
    Snapshot,
    /// The worktree is made without them.
    Leave,
}

impl Uncommitted {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Refuse, Self::Snapshot, Self::Leave];

    /// Its word in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Snapshot => "snapshot",
            Self::Leave => "leave",
        }
    }
}

/// How directories of dependencies come into a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dependencies {
    /// As copies that share their blocks where the file system can; else as links.
    #[default]
    Auto,
    /// Not at all.
    None,
    /// As copies.
    Copy,
    /// As a directory of links, one for each package of the main checkout.
    Symlink,
}

impl Dependencies {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::None, Self::Copy, Self::Symlink];

    /// Its word in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Copy => "copy",
            Self::Symlink => "symlink",
        }
    }
}

/// When the work of a member is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeMode {
    /// When a task of the member is completed: the task is done only then.
    #[default]
    Auto,
    /// When a person says so.
    Manual,
}

impl MergeMode {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Auto, Self::Manual];

    /// Its word in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
        }
    }
}

/// How worktrees are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorktreeSettings {
    /// The directory that holds them, in one directory for each repository; `None` is `.claude/worktrees` in the repository.
    pub location: Option<PathBuf>,
    /// What becomes of uncommitted changes.
    pub uncommitted: Uncommitted,
    /// How dependencies come along.
    pub dependencies: Dependencies,
    /// Names of the directories that hold dependencies.
    pub dependency_directories: Vec<String>,
    /// Directories that are checked out; empty is all.
    pub sparse_paths: Vec<String>,
    /// When the work of a member is merged.
    pub merge: MergeMode,
}

impl Default for WorktreeSettings {
    fn default() -> Self {
        Self {
            location: None,
            uncommitted: Uncommitted::default(),
            dependencies: Dependencies::default(),
            dependency_directories: vec!["node_modules".to_owned()],
            sparse_paths: Vec::new(),
            merge: MergeMode::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_arrive_as_they_were_sent() {
        let sent = WorktreeSettings {
            location: Some("/trees".into()),
            uncommitted: Uncommitted::Leave,
            dependencies: Dependencies::Symlink,
            dependency_directories: vec!["vendor".into()],
            sparse_paths: vec!["src".into()],
            merge: MergeMode::Manual,
        };
        let text = serde_json::to_string(&sent).unwrap();
        assert_eq!(
            serde_json::from_str::<WorktreeSettings>(&text).unwrap(),
            sent
        );
        assert_eq!(
            serde_json::from_str::<WorktreeSettings>("{}").unwrap(),
            WorktreeSettings::default()
        );
    }
}
