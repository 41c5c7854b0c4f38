//! What becomes of a member's worktree when the member has ended.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use swarm_protocol::{Member, TeamName};
use swarm_worktree::{FormerOwner, Hazard, Owner, WorktreeOutcome};

use crate::SpawnContext;
use crate::spawn::blocking;

/// A worktree after the end of its member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftWorktree {
    /// Whose it was.
    pub member: swarm_protocol::MemberName,
    /// The name it goes by.
    pub slug: String,
    /// Where it is, or was.
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// Whether it is still there: it is removed if it holds nothing that is not elsewhere.
    pub kept: bool,
    /// Why it is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    /// Whether git can merge what is committed in it as it is.
    #[serde(default, skip_serializing)]
    pub can_be_merged: bool,
}

impl LeftWorktree {
    /// One sentence for people.
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
            let advice = if self.can_be_merged {
                format!("; `swarm worktree merge {}` merges its commits", self.slug)
            } else {
                String::new()
            };
            format!(
                "the worktree of {member} is kept: {} on {branch} ({}){advice}",
                path.display(),
                self.why.join("; "),
            )
        } else {
            format!("the worktree of {member} had no changes and was removed, with {branch}")
        }
    }
}

/// Removes the worktree of a member that has ended, or keeps it and says why. One that somebody else has taken up since is
/// none of its any more.
pub(crate) async fn part(
    spawn_context: &SpawnContext,
    team: &TeamName,
    member: &Member,
) -> Option<LeftWorktree> {
    let path = member.worktree_path.clone()?;
    let former_owner = FormerOwner {
        owner: Owner {
            team: Some(team.clone()),
            member: Some(member.name.clone()),
            spawn_id: member.spawn_id(),
            ..Owner::default()
        },
        process: None,
    };
    let (worktrees, now) = (spawn_context.worktrees.clone(), spawn_context.clock.now());
    let at = path.clone();
    let parted = blocking(move || worktrees.finish(&at, &former_owner, now)).await;
    let left = |slug: String, branch: String, kept, why| LeftWorktree {
        member: member.name.clone(),
        slug,
        path: path.clone(),
        branch,
        kept,
        why,
        can_be_merged: false,
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
            let can_be_merged = why.iter().all(Hazard::can_be_merged);
            let why = why.iter().map(ToString::to_string).collect();
            Some(LeftWorktree {
                can_be_merged,
                ..left(slug.to_string(), branch, true, why)
            })
        }
        Err(error) => {
            tracing::warn!(member = %member.name, %error, "worktree kept");
            let directory = path.file_name().unwrap_or_default().to_string_lossy();
            let slug = directory.replace('+', "/");
            Some(left(
                slug,
                format!("worktree-{directory}"),
                true,
                vec![error.to_string()],
            ))
        }
    }
}
