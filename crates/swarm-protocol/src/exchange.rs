//! What members of a team on several machines exchange: large values and branches.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{MemberName, UnixMs};

/// A large value of a team, which is never changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlobRef {
    /// Its ID.
    pub id: Uuid,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The branch of a member that works on another machine than the lead, as last published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PublishedBranch {
    /// The member.
    pub member: MemberName,
    /// Name of its worktree.
    pub worktree: String,
    /// Name of its machine.
    pub host: String,
    /// Path of the worktree on that machine.
    pub path: PathBuf,
    /// The branch, without `refs/heads/`.
    pub branch: String,
    /// The last commit.
    pub commit: String,
    /// The commit that the work begins with, which the bundle does not contain.
    pub base: String,
    /// The commit of uncommitted changes on top of `base` that the work is based on, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// The branch into which the work is merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The changed files that were not committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
    /// The commits as a git bundle; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<BlobRef>,
    /// The last commit of the member's work that was merged, as the machine that merged it has noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<String>,
    /// When it was published.
    pub published_at: UnixMs,
}
