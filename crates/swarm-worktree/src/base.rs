//! The commit at which a worktree begins.

use serde::{Deserialize, Serialize};

use crate::git::Call;
use crate::repository::{Repository, unsuitable};
use crate::view::Checkout;
use crate::{GitError, WorktreeError};

/// Where a worktree begins, and how that stands to what others have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Base {
    /// The commit.
    pub sha: String,
    /// The branch of the caller's checkout, if one was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What that branch follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Commits that upstream, as last fetched, did not have.
    #[serde(default)]
    pub ahead: u64,
    /// Commits of upstream, as last fetched, that are missing.
    #[serde(default)]
    pub behind: u64,
    /// The caller's HEAD, if the worktree begins at a snapshot of its uncommitted changes on top of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_of: Option<String>,
}

impl Base {
    /// The commit of the caller's checkout. Asks no server.
    pub(crate) fn of_checkout(repository: &Repository) -> Result<Self, WorktreeError> {
        let checkout = Checkout::at(repository, &repository.top)?;
        let at = checkout.git();
        let (Some(0), out, _) = at.status(&["rev-parse", "--verify", "-q", "HEAD^{commit}"])?
        else {
            let why = "it has no commit yet; make a first one";
            return Err(unsuitable(&repository.top, why));
        };
        let sha = String::from_utf8_lossy(&out).trim().to_owned();
        let branch = match at.status(&["symbolic-ref", "-q", "HEAD"])? {
            (Some(0), out, _) => String::from_utf8_lossy(&out)
                .trim()
                .strip_prefix("refs/heads/")
                .map(str::to_owned),
            _ => None,
        };
        let mut base = Self {
            sha,
            branch,
            upstream: None,
            ahead: 0,
            behind: 0,
            snapshot_of: None,
        };
        if base.branch.is_some() {
            base.compare(&at)?;
        }
        Ok(base)
    }

    fn compare(&mut self, at: &Call<'_>) -> Result<(), GitError> {
        let named = at.status(&[
            "rev-parse",
            "--abbrev-ref",
            "--symbolic-full-name",
            "@{upstream}",
        ])?;
        // Without an upstream, or with one that was never fetched, there is nothing to compare with.
        let (Some(0), out, _) = named else {
            return Ok(());
        };
        let counted = at.line(&["rev-list", "--left-right", "--count", "@{upstream}...HEAD"])?;
        let mut numbers = counted.split_whitespace().map(|n| n.parse().unwrap_or(0));
        self.upstream = Some(String::from_utf8_lossy(&out).trim().to_owned());
        self.behind = numbers.next().unwrap_or(0);
        self.ahead = numbers.next().unwrap_or(0);
        Ok(())
    }

    /// As people read it: `1a2b3c4d5e6f (main, 2 ahead of and 1 behind origin/main)`.
    pub fn describe(&self) -> String {
        if self.sha.is_empty() {
            return "no commit".to_owned();
        }
        let place = match (&self.branch, &self.upstream) {
            (None, _) => "no branch".to_owned(),
            (Some(branch), None) => format!("{branch}, no upstream"),
            (Some(branch), Some(upstream)) => match (self.ahead, self.behind) {
                (0, 0) => format!("{branch}, level with {upstream}"),
                (ahead, 0) => format!("{branch}, {ahead} ahead of {upstream}"),
                (0, behind) => format!("{branch}, {behind} behind {upstream}"),
                (ahead, behind) => {
                    format!("{branch}, {ahead} ahead of and {behind} behind {upstream}")
                }
            },
        };
        match &self.snapshot_of {
            None => format!("{} ({place})", short(&self.sha)),
            Some(head) => format!(
                "{} (uncommitted changes on {}; {place})",
                short(&self.sha),
                short(head)
            ),
        }
    }
}

/// As much of an object id as people read.
pub(crate) fn short(sha: &str) -> &str {
    sha.get(..12).unwrap_or(sha)
}
