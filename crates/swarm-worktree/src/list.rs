//! The worktrees of a repository, with what is to be known of each.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::inspect::hazards;
use crate::repository::Repository;
use crate::{Hazard, Record, Stage, WorktreeError};

/// How it stands with a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Somebody works in it.
    InUse,
    /// It holds nothing that is not elsewhere.
    Clean,
    /// Something in it is not committed, or not merged.
    Work,
    /// Its directory is gone.
    Gone,
    /// Its maker died over it, or is still at it.
    HalfMade,
    /// Its state cannot be found out.
    Unknown,
}

impl Condition {
    /// As people and scripts read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InUse => "in-use",
            Self::Clean => "clean",
            Self::Work => "work",
            Self::Gone => "gone",
            Self::HalfMade => "half-made",
            Self::Unknown => "unknown",
        }
    }
}

/// A worktree with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWorktree {
    /// What is known of it.
    pub record: Record,
    /// How it stands.
    pub condition: Condition,
    /// What speaks against removing it.
    pub hazards: Vec<Hazard>,
    /// Bytes on disk.
    pub size: u64,
}

/// What became of the worktrees of a repository that were tidied up.
#[derive(Debug, Default)]
pub struct Pruned {
    /// Those that are gone, or would be.
    pub gone: Vec<ListedWorktree>,
    /// Those that hold something.
    pub kept: Vec<ListedWorktree>,
    /// Why others could not be removed. Each says which.
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
    let hazards = hazards(repository, &record);
    let is = |wanted: fn(&Hazard) -> bool| hazards.iter().any(wanted);
    let condition = if is(|hazard| matches!(hazard, Hazard::InUse(_))) {
        Condition::InUse
    } else if is(|hazard| matches!(hazard, Hazard::NotAsMade(_) | Hazard::Unknown(_))) {
        Condition::Unknown
    } else if !record.path.is_dir() {
        Condition::Gone
    } else if hazards.is_empty() {
        Condition::Clean
    } else {
        Condition::Work
    };
    ListedWorktree {
        size: size(&record.path),
        condition,
        hazards,
        record,
    }
}

/// Bytes that a directory takes on disk, without what links in it lead to.
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
