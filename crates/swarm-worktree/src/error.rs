//! Errors of worktree operations.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use swarm_os::OsError;
use swarm_protocol::{ErrorKind, PublishedBranch, TeamName};

use crate::hazard::{Hazard, named};
use crate::{GitError, Slug, SlugError};

/// The last commits on both sides of a conflict: abbreviated id and subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConflictSides {
    /// Those of the worktree's branch.
    pub ours: Vec<String>,
    /// Those of the target.
    pub theirs: Vec<String>,
}

pub(crate) type Result<T, E = WorktreeError> = std::result::Result<T, E>;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorktreeError {
    /// A text is not a valid slug.
    #[error(transparent)]
    Slug(#[from] SlugError),
    /// A directory is not in a repository.
    #[error("{} is not in a git repository, so it cannot have a worktree; run `git init` there, or continue without a worktree", .0.display())]
    NoRepository(PathBuf),
    /// The caller's checkout has uncommitted changes.
    #[error("the repository at {} has uncommitted changes that a worktree would lack: {}; commit them first; the user can also change the setting `worktree.uncommitted`", checkout.display(), named(files))]
    Uncommitted {
        /// The checkout.
        checkout: PathBuf,
        /// The changed files.
        files: Vec<String>,
    },
    /// The worktree is in use.
    #[error(
        "the worktree `{slug}` is in use by {by}; choose another name, or wait until it has stopped"
    )]
    Taken {
        /// Name of the worktree.
        slug: String,
        /// Description of its user.
        by: String,
    },
    /// The caller cancelled the creation of this worktree.
    #[error("the worktree `{0}` was not created: it was interrupted")]
    Interrupted(String),
    /// The worktree does not exist.
    #[error("worktree `{slug}` not found in {}; run `swarm worktree list` to see the worktrees", repository.display())]
    NotFound {
        /// Name of the worktree.
        slug: String,
        /// The repository.
        repository: PathBuf,
    },
    /// A bundle is too large to be sent.
    #[error("{} MB of commits are too many for one transfer: the limit is {} MB", bytes.div_ceil(1_000_000), limit / 1_000_000)]
    BundleTooLarge {
        /// Its size in bytes.
        bytes: u64,
        /// Maximum size in bytes.
        limit: u64,
    },
    /// Removing the worktree would or might lose work.
    #[error("the worktree `{slug}` is kept: {}{}", listed(hazards), removal_hint(hazards, *forced))]
    Unsafe {
        /// Name of the worktree.
        slug: String,
        /// The reasons against the removal.
        hazards: Vec<Hazard>,
        /// Whether a forced removal was requested.
        forced: bool,
    },
    /// A branch conflicts with its target.
    #[error(
        "{branch} was not merged into {target}: both changed {}{}; {target} was not changed. Merge {target} into {branch} in the worktree, fix these files, commit, and merge again",
        named(files), both(&[(target, &sides.theirs), (branch, &sides.ours)])
    )]
    Conflict {
        /// The branch of the worktree.
        branch: String,
        /// The target branch.
        target: String,
        /// The conflicting files.
        files: Vec<String>,
        /// The last commits that changed them.
        sides: Box<ConflictSides>,
    },
    /// The checkout of the target has uncommitted changes.
    #[error("{branch} was not merged: {}, where {target} is checked out, has uncommitted changes: {}; commit or stash them there, and merge again", checkout.display(), named(files))]
    TargetChanged {
        /// The branch of the worktree.
        branch: String,
        /// The target branch.
        target: String,
        /// The checkout of the target.
        checkout: PathBuf,
        /// The changed files.
        files: Vec<String>,
    },
    /// The target moved while a merge was checked.
    #[error("{branch} was not merged: {target} moved in the meantime; merge again")]
    TargetMoved {
        /// The branch of the worktree.
        branch: String,
        /// The target branch.
        target: String,
    },
    /// A worktree differs from its record.
    #[error("the worktree {} does not match its record: {why}", path.display())]
    Mismatch {
        /// The path.
        path: PathBuf,
        /// The difference.
        why: String,
    },
    /// Something else is not possible or failed. The message names the worktree, branch or file.
    #[error("{1}")]
    Failed(ErrorKind, String),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// An operation on a file or lock failed.
    #[error(transparent)]
    Disk(#[from] OsError),
    /// A file or directory could not be read, created or removed.
    #[error("{}: {source}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}

impl WorktreeError {
    /// Returns the conversion of an error of the system for a file or directory.
    pub(crate) fn at(path: &Path) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::Read {
            path: path.to_owned(),
            source,
        }
    }

    /// Returns the error for a worktree that does not exist.
    pub(crate) fn not_found(slug: &Slug, repository: PathBuf) -> Self {
        Self::NotFound {
            slug: slug.to_string(),
            repository,
        }
    }

    /// Something is in the way of a new worktree, such as an existing branch or directory.
    pub(crate) fn in_the_way(slug: &Slug, why: &str) -> Self {
        let what = format!("the worktree `{slug}` was not created: {why}");
        Self::Failed(ErrorKind::Conflict, what)
    }

    /// Requires that a worktree has no user, as far as that is known.
    pub(crate) fn require_free(slug: &Slug, user: Result<Option<String>, String>) -> Result<()> {
        match user {
            Ok(None) => Ok(()),
            Ok(Some(by)) => {
                let slug = slug.to_string();
                Err(Self::Taken { slug, by })
            }
            Err(why) => Err(Self::in_the_way(slug, &why)),
        }
    }

    pub(crate) fn not_removed(slug: &Slug, why: &str) -> Self {
        let what = format!("the worktree `{slug}` was not removed: {why}");
        Self::Failed(ErrorKind::Internal, what)
    }

    pub(crate) fn not_merged(branch: impl Display, why: impl Display) -> Self {
        let what = format!("{branch} was not merged: {why}");
        Self::Failed(ErrorKind::Conflict, what)
    }

    /// A commit that was sent to this machine cannot be checked out.
    pub(crate) fn not_received(commit: &str, why: &str) -> Self {
        let commit = commit.escape_debug();
        let what = format!("commit {commit} was not received: {why}");
        Self::Failed(ErrorKind::Refused, what)
    }

    /// The work of a member on another machine cannot be used.
    pub fn not_fetched(branch: &PublishedBranch, team: &TeamName, why: &str) -> Self {
        let PublishedBranch {
            branch,
            member,
            host,
            ..
        } = branch;
        let what = format!("{branch} of {member}@{team} on {host} was not fetched: {why}");
        Self::Failed(ErrorKind::Refused, what)
    }

    pub(crate) fn damaged(record: &Path, why: &str) -> Self {
        let record = record.display();
        let what = format!("the record {record} is damaged: {why}; it was not changed");
        Self::Failed(ErrorKind::Damaged, what)
    }

    /// Returns what a merge waits for, if it was refused because the checkout of its target has
    /// uncommitted changes.
    pub fn awaited(&self) -> Option<String> {
        let Self::TargetChanged {
            target,
            checkout,
            files,
            ..
        } = self
        else {
            return None;
        };
        let (files, checkout) = (named(files), checkout.display());
        Some(format!(
            "uncommitted changes of {files} in {checkout}, where {target} is checked out"
        ))
    }

    /// Returns the kind of the error for scripts.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Slug(_) => ErrorKind::Usage,
            Self::NoRepository(_) | Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Failed(kind, _) => *kind,
            Self::Unsafe { .. } | Self::BundleTooLarge { .. } => ErrorKind::Refused,
            Self::Interrupted(_) => ErrorKind::Interrupted,
            Self::Uncommitted { .. }
            | Self::Taken { .. }
            | Self::Conflict { .. }
            | Self::TargetChanged { .. }
            | Self::TargetMoved { .. } => ErrorKind::Conflict,
            Self::Git(GitError::Missing { .. }) => ErrorKind::Environment,
            Self::Disk(OsError::LockTimeout { .. }) => ErrorKind::TimedOut,
            Self::Mismatch { .. } | Self::Git(_) | Self::Disk(_) | Self::Read { .. } => {
                ErrorKind::Internal
            }
        }
    }
}

fn removal_hint(hazards: &[Hazard], forced: bool) -> &'static str {
    let has = |wanted: fn(&Hazard) -> bool| hazards.iter().any(wanted);
    if has(|hazard| matches!(hazard, Hazard::InUse(_))) {
        "; stop the agent or process that uses it first (`swarm shutdown NAME`), `--force` does not help"
    } else if has(|hazard| matches!(hazard, Hazard::NotAsMade(_))) {
        "; fix that first, `--force` does not help"
    } else if forced {
        "; this cannot be rescued, so `--force` does not help"
    } else if hazards.contains(&Hazard::MadeByHook) {
        "; save what you need, then use `--force` to let your hook remove it"
    } else if !hazards.iter().all(Hazard::can_be_rescued) {
        "; this cannot be rescued, so check it manually: `--force` does not help"
    } else {
        "; `--force` saves it as a ref and a patch before the removal"
    }
}

/// Lists the commits on both sides of a conflict.
fn both(sides: &[(&String, &Vec<String>)]) -> String {
    let known = sides.iter().filter(|(_, commits)| !commits.is_empty());
    let parts: Vec<_> = known
        .map(|(branch, commits)| format!("{branch}: {}", commits.join(", ")))
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    format!(" ({})", parts.join("; "))
}

fn listed(hazards: &[Hazard]) -> String {
    let all: Vec<_> = hazards.iter().map(ToString::to_string).collect();
    all.join("; ")
}
