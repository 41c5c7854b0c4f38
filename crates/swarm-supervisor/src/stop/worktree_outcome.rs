//! Handling of a stopped member's worktree.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_protocol::{MemberName, UnixMs};
use swarm_worktree::{FormerOwner, Hazard, Owner, WorktreeOutcome, Worktrees};

use crate::spawn::blocking;

/// A worktree after its member stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftWorktree {
    /// Member that used it.
    pub member: MemberName,
    /// Name of the worktree.
    pub slug: String,
    /// Path, whether or not it still exists.
    pub path: PathBuf,
    /// The machine of the path; `None` for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Branch.
    pub branch: String,
    /// Whether it was kept; it is removed if it has no unsaved work.
    pub kept: bool,
    /// Reasons why it was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    /// Whether it has commits that git can merge.
    #[serde(default, skip_serializing)]
    pub can_be_merged: bool,
    /// Whether the reasons why it was kept may pass without a change of its work.
    #[serde(default, skip_serializing)]
    pub may_pass: bool,
}

impl LeftWorktree {
    /// Describes the result in one sentence.
    pub fn sentence(&self) -> String {
        let Self {
            member,
            path,
            branch,
            ..
        } = self;
        if self.kept && branch.is_empty() {
            format!(
                "the worktree of {member} is kept: {} ({}); `swarm worktree remove --force {}` removes it with your hook",
                path.display(),
                self.why.join("; "),
                self.slug
            )
        } else if self.kept {
            let host = self.host.as_ref();
            let host = host.map(|host| format!("{host}:")).unwrap_or_default();
            let advice = if self.can_be_merged {
                format!("; `swarm worktree merge {}` merges its commits", self.slug)
            } else {
                String::new()
            };
            format!(
                "the worktree of {member} is kept: {host}{} on {branch} ({}){advice}",
                path.display(),
                self.why.join("; "),
            )
        } else {
            format!("the worktree of {member} had no unmerged work and was removed, with {branch}")
        }
    }
}

/// Removes the worktree of a member that has left its team, or keeps it and returns why. A worktree
/// that another member has taken over is not touched.
pub async fn finish_worktree(
    worktrees: &Worktrees,
    path: &Path,
    owner: Owner,
    now: UnixMs,
) -> Option<LeftWorktree> {
    let member = owner.member.clone()?;
    let former_owner = FormerOwner {
        owner,
        process: None,
    };
    let (worktrees, at) = (worktrees.clone(), path.to_owned());
    let parted = blocking(move || worktrees.finish(&at, &former_owner, now)).await;
    let left = |slug: String, branch: String, kept, why| LeftWorktree {
        member: member.clone(),
        slug,
        path: path.to_owned(),
        host: None,
        branch,
        kept,
        why,
        can_be_merged: false,
        may_pass: false,
    };
    match parted {
        Ok(None) => None,
        Ok(Some(WorktreeOutcome::Removed(removed))) => Some(left(
            removed.slug.to_string(),
            removed.branch,
            false,
            Vec::new(),
        )),
        Ok(Some(WorktreeOutcome::Kept {
            slug, branch, why, ..
        })) => {
            let can_be_merged = Hazard::commits_can_be_merged(&why);
            let may_pass = Hazard::may_pass(&why);
            let why = why.iter().map(ToString::to_string).collect();
            Some(LeftWorktree {
                can_be_merged,
                may_pass,
                ..left(slug.to_string(), branch, true, why)
            })
        }
        Err(error) => {
            tracing::warn!(%member, %error, "worktree kept");
            let directory = path.file_name().unwrap_or_default().to_string_lossy();
            let slug = directory.replace('+', "/");
            let branch = format!("worktree-{directory}");
            Some(LeftWorktree {
                may_pass: true,
                ..left(slug, branch, true, vec![error.to_string()])
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_on_another_machine_is_named_with_the_machine() {
        let left = LeftWorktree {
            member: MemberName::parse("carl").unwrap(),
            slug: "carl".to_owned(),
            path: PathBuf::from("/srv/carl"),
            host: Some("box".to_owned()),
            branch: "worktree-carl".to_owned(),
            kept: true,
            why: vec!["2 unmerged commits".to_owned()],
            can_be_merged: true,
            may_pass: false,
        };
        assert_eq!(
            left.sentence(),
            "the worktree of carl is kept: box:/srv/carl on worktree-carl (2 unmerged commits); \
             `swarm worktree merge carl` merges its commits"
        );
    }
}
