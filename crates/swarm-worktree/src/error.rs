//! What can go wrong with worktrees.

use std::path::PathBuf;

use swarm_os::OsError;
use swarm_protocol::ErrorKind;

use crate::hazard::{Hazard, named};
use crate::{GitError, SlugError};

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorktreeError {
    /// A text is no slug.
    #[error(transparent)]
    Slug(#[from] SlugError),
    /// There is no repository around a directory.
    #[error("{} is in no git repository, so it cannot have a worktree; run `git init` there, or leave the worktree out", directory.display())]
    NoRepository {
        /// The directory.
        directory: PathBuf,
    },
    /// A repository cannot be isolated as it is.
    #[error("no worktree for {}: {why}", repository.display())]
    Unsuitable {
        /// The repository.
        repository: PathBuf,
        /// What is in the way, and what to do.
        why: String,
    },
    /// The caller's checkout has changes that no commit holds.
    #[error("{} has uncommitted changes that a worktree would lack: {}; commit them first, or ask the user to set `worktree.uncommitted`", checkout.display(), named(files))]
    Uncommitted {
        /// The checkout.
        checkout: PathBuf,
        /// What is changed.
        files: Vec<String>,
    },
    /// Somebody works in the worktree.
    #[error(
        "the worktree `{slug}` is in use by {by}; choose another name, or wait until that has ended"
    )]
    Taken {
        /// Its name.
        slug: String,
        /// Who has it.
        by: String,
    },
    /// Something that is not a worktree of ours is where it should be made.
    #[error("the worktree `{slug}` is not made: {why}")]
    InTheWay {
        /// Its name.
        slug: String,
        /// What is there, and what to do.
        why: String,
    },
    /// The user's hook has not made what it was to make.
    #[error("the worktree `{slug}` is not made, the WorktreeCreate hook failed: {why}")]
    Hook {
        /// Its name.
        slug: String,
        /// What the hook said or did.
        why: String,
    },
    /// Whoever asked waits no longer.
    #[error("the worktree `{slug}` is not made: it was interrupted")]
    Interrupted {
        /// Its name.
        slug: String,
    },
    /// There is no such worktree.
    #[error("there is no worktree `{slug}` of swarm in {}; `swarm worktree list` shows those there are", repository.display())]
    NotFound {
        /// Its name.
        slug: String,
        /// The repository.
        repository: PathBuf,
    },
    /// To remove it would lose something, or might.
    #[error("the worktree `{slug}` is kept: {}{}", listed(hazards), way_out(hazards, *forced))]
    Unsafe {
        /// Its name.
        slug: String,
        /// What speaks against it.
        hazards: Vec<Hazard>,
        /// Whether it was to be removed by force.
        forced: bool,
    },
    /// A branch and its target do not fit together.
    #[error(
        "{branch} was not merged into {target}: both changed {}; {target} is as it was. Merge {target} into {branch} in the worktree, mend these files, commit, and merge again",
        named(files)
    )]
    Conflict {
        /// The branch of the worktree.
        branch: String,
        /// What it was to be merged into.
        target: String,
        /// The files that conflict.
        files: Vec<String>,
    },
    /// A merge cannot begin.
    #[error("{branch} was not merged: {why}")]
    NotMerged {
        /// The branch of the worktree.
        branch: String,
        /// What is in the way, and what to do.
        why: String,
    },
    /// A worktree is not what it was to be.
    #[error("the worktree {} is not as it was made: {why}", path.display())]
    Mismatch {
        /// Where it is.
        path: PathBuf,
        /// What differs.
        why: String,
    },
    /// What was removed is still there.
    #[error("the worktree `{slug}` was not removed: {why}")]
    NotRemoved {
        /// Its name.
        slug: String,
        /// What is left.
        why: String,
    },
    /// The record of a worktree cannot be read.
    #[error("the record {} is damaged: {why}; it was left as it is", path.display())]
    Damaged {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file could not be used.
    #[error(transparent)]
    Disk(#[from] OsError),
    /// The work was cut off.
    #[error("the work on a worktree broke down: {0}")]
    BrokeDown(String),
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl WorktreeError {
    /// What kind of failure this is for scripts.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Slug(_) => ErrorKind::Usage,
            Self::NoRepository { .. } | Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Unsuitable { .. } | Self::Unsafe { .. } | Self::Hook { .. } => ErrorKind::Refused,
            Self::Interrupted { .. } => ErrorKind::Interrupted,
            Self::Uncommitted { .. }
            | Self::Taken { .. }
            | Self::InTheWay { .. }
            | Self::Conflict { .. }
            | Self::NotMerged { .. } => ErrorKind::Conflict,
            Self::Damaged { .. } => ErrorKind::Damaged,
            Self::Git(GitError::Missing { .. }) => ErrorKind::Environment,
            Self::Disk(OsError::LockTimeout { .. }) => ErrorKind::TimedOut,
            Self::Mismatch { .. }
            | Self::NotRemoved { .. }
            | Self::Git(_)
            | Self::Disk(_)
            | Self::Read { .. }
            | Self::BrokeDown(_) => ErrorKind::Internal,
        }
    }
}

/// What helps against hazards.
fn way_out(hazards: &[Hazard], forced: bool) -> &'static str {
    let has = |wanted: fn(&Hazard) -> bool| hazards.iter().any(wanted);
    if has(|hazard| matches!(hazard, Hazard::InUse(_))) {
        "; end whoever works there first (`swarm shutdown NAME`), `--force` does not help"
    } else if has(|hazard| matches!(hazard, Hazard::NotAsMade(_))) {
        "; put that right first, `--force` does not help"
    } else if forced {
        "; that cannot be rescued, so `--force` does not help"
    } else if hazards.contains(&Hazard::MadeByHook) {
        "; save what you need, then `--force` has your hook take it away"
    } else if !hazards.iter().all(Hazard::can_be_rescued) {
        "; that cannot be rescued, so look into it yourself: `--force` does not help"
    } else {
        "; `--force` saves it as a ref and a patch first"
    }
}

fn listed(hazards: &[Hazard]) -> String {
    let all: Vec<_> = hazards.iter().map(ToString::to_string).collect();
    all.join("; ")
}
