//! The worktrees of a repository and their conditions.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use swarm_protocol::named_enum;

use crate::inspect::hazards;
use crate::repository::Repository;
use crate::{Hazard, Record, Stage, WorktreeError};

named_enum! {
    /// Condition of a worktree.
    pub enum Condition {
        /// It is in use.
        InUse = "in-use",
        /// It has no work that is not elsewhere too.
        Clean = "clean",
        /// It has uncommitted or unmerged work.
        Work = "work",
        /// Its directory was deleted.
        Gone = "gone",
        /// Its creation is in progress, or the creator has died.
        HalfMade = "half-made",
        /// Its state is unknown.
        Unknown = "unknown",
    }
}

/// A worktree with its condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWorktree {
    /// The record.
    pub record: Record,
    /// The condition.
    pub condition: Condition,
    /// Reasons against removing it.
    pub hazards: Vec<Hazard>,
    /// Size on disk in bytes.
    pub size: u64,
}

/// Result of pruning the worktrees of a repository.
#[derive(Debug, Default)]
pub struct Pruned {
    /// Worktrees that were removed, or would be in a dry run.
    pub gone: Vec<ListedWorktree>,
    /// Worktrees that were kept.
    pub kept: Vec<ListedWorktree>,
    /// Errors of worktrees that could not be removed. Each names its worktree.
    pub failed: Vec<WorktreeError>,
}

pub(crate) fn describe(repository: &Repository, record: Record) -> ListedWorktree {
    if record.stage == Stage::Making {
        return ListedWorktree {
            condition: Condition::HalfMade,
            hazards: Vec::new(),
            size: size(&record.path),
            record,
        };
    }
    let mut hazards = hazards(repository, &record);
    if let Some(remote) = &record.remote
        && !remote.uncommitted.is_empty()
    {
        hazards.push(Hazard::Dirty(remote.uncommitted.clone()));
    }
    let is = |wanted: fn(&Hazard) -> bool| hazards.iter().any(wanted);
    let condition = if is(|hazard| matches!(hazard, Hazard::InUse(_))) {
        Condition::InUse
    } else if is(|hazard| matches!(hazard, Hazard::NotAsMade(_) | Hazard::Unknown(_))) {
        Condition::Unknown
    } else if record.path_here().is_some_and(|path| !path.is_dir()) {
        Condition::Gone
    } else if hazards.is_empty() {
        Condition::Clean
    } else {
        Condition::Work
    };
    ListedWorktree {
        size: record.path_here().map_or(0, size),
        condition,
        hazards,
        record,
    }
}

/// Returns the size of a directory on disk in bytes, without following links.
pub(crate) fn size(directory: &Path) -> u64 {
    let mut directories = vec![directory.to_owned()];
    let mut blocks = 0_u64;
    while let Some(directory) = directories.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let Ok(found) = entry.path().symlink_metadata() else {
                continue;
            };
            blocks = blocks.saturating_add(found.blocks());
            if found.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    // The unit of st_blocks, see stat(2).
    blocks.saturating_mul(512)
}
