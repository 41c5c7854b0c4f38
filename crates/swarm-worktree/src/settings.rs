//! Settings for worktrees.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use swarm_protocol::named_enum;

named_enum! {
    /// Handling of uncommitted changes in the caller's checkout.
    #[derive(Default)]
    pub enum Uncommitted {
        /// No worktree is created.
        #[default]
        Refuse = "refuse",
        /// They are copied in a separate commit, which the worktree is based on.
        Snapshot = "snapshot",
        /// The worktree is created without them.
        Leave = "leave",
    }
}

named_enum! {
    /// How dependency directories are copied into a worktree.
    #[derive(Default)]
    pub enum Dependencies {
        /// As copies that share their blocks if the file system supports it, otherwise as links.
        #[default]
        Auto = "auto",
        /// Not at all.
        None = "none",
        /// As copies.
        Copy = "copy",
        /// As a directory of symbolic links, one per package of the main checkout.
        Symlink = "symlink",
    }
}

named_enum! {
    /// When the commits of a member are merged.
    #[derive(Default)]
    pub enum MergeMode {
        /// When the member completes a task. The task stays open if the merge fails.
        #[default]
        Auto = "auto",
        /// When the lead or the user requests it.
        Manual = "manual",
    }
}

/// Settings for worktrees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorktreeSettings {
    /// Parent directory of the worktrees, with one subdirectory per repository; `None` is
    /// `.claude/worktrees` in the repository.
    pub location: Option<PathBuf>,
    /// Handling of uncommitted changes.
    pub uncommitted: Uncommitted,
    /// How dependency directories are copied.
    pub dependencies: Dependencies,
    /// Names of dependency directories.
    pub dependency_directories: Vec<String>,
    /// Directories to check out; empty for all.
    pub sparse_paths: Vec<String>,
    /// When the commits of a member are merged.
    pub merge: MergeMode,
    /// How long a merge waits until the checkout of its target has no uncommitted changes.
    pub merge_wait: Duration,
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
            merge_wait: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_serialization() {
        let sent = WorktreeSettings {
            location: Some("/trees".into()),
            uncommitted: Uncommitted::Leave,
            dependencies: Dependencies::Symlink,
            dependency_directories: vec!["vendor".into()],
            sparse_paths: vec!["src".into()],
            merge: MergeMode::Manual,
            merge_wait: Duration::from_mins(1),
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
