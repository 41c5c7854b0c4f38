//! Tells members while they still work that their branches will conflict.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use swarm_protocol::{MemberName, TeamConfig};
use swarm_store::{Draft, Team};
use swarm_supervisor::blocking;
use swarm_worktree::{Collision, Slug, Worktrees, seen};

/// The forecast of conflicts between the members' branches.
#[derive(Debug, Default)]
pub(super) struct CollisionWatch {
    /// The commit of each member's worktree at the last forecast.
    heads: BTreeMap<PathBuf, String>,
    /// The pairs and files that members were told about.
    told: HashSet<([Slug; 2], Vec<String>)>,
}

impl CollisionWatch {
    /// Tells both members of each pair that newly conflicts, if a branch moved. A failure is only
    /// logged: the merge finds the conflict too.
    pub(super) async fn check(
        &mut self,
        team: &dyn Team,
        config: &TeamConfig,
        worktrees: &Worktrees,
    ) {
        let heads: BTreeMap<PathBuf, String> = config
            .members
            .iter()
            .filter_map(|member| member.worktree_path.clone())
            .filter_map(|path| Some((path.clone(), seen(&path)?.head?)))
            .collect();
        if heads == self.heads {
            return;
        }
        let any = heads.keys().next().cloned();
        let Some(directory) = any.filter(|_| heads.len() > 1) else {
            self.heads = heads;
            return;
        };
        let worktrees = worktrees.clone();
        let collisions = match blocking(move || worktrees.forecast(&directory)).await {
            Ok(collisions) => collisions,
            Err(error) => {
                // The heads are not updated, so the next check repeats the forecast.
                tracing::warn!(%error, "no forecast of conflicts");
                return;
            }
        };
        self.heads = heads;
        for collision in collisions {
            let [one, other] = &collision.worktrees;
            let key = [one.slug.clone(), other.slug.clone()];
            if self.told.contains(&(key.clone(), collision.files.clone())) {
                continue;
            }
            if let Some(pair) = members_of(&collision, team, config) {
                tell(team, &collision, &pair).await;
                self.told.insert((key, collision.files));
            }
        }
    }
}

/// Returns the members whose worktrees conflict, if both are in the team.
fn members_of(
    collision: &Collision,
    team: &dyn Team,
    config: &TeamConfig,
) -> Option<[MemberName; 2]> {
    let member = |at: usize| {
        let owner = &collision.worktrees[at].owner;
        let name = owner.member.clone()?;
        let is_here = owner.team.as_ref() == Some(team.name()) && owner.agent.is_none();
        (is_here && config.member(&name).is_some()).then_some(name)
    };
    Some([member(0)?, member(1)?])
}

async fn tell(team: &dyn Team, collision: &Collision, pair: &[MemberName; 2]) {
    let files = collision.file_list();
    for (at, name) in pair.iter().enumerate() {
        let (own, other) = (&collision.worktrees[at], &collision.worktrees[1 - at]);
        let peer = &pair[1 - at];
        let text = format!(
            "Your branch {} and {peer}'s branch {} change the same places in {files}, so the second of you that completes a task gets a merge conflict. \
             Agree with {peer} now who changes what (SendMessage). `git diff {}...{}` shows {peer}'s commits.",
            own.branch, other.branch, own.branch, other.branch
        );
        let summary = format!("conflict with {peer} in {files}");
        let message = Draft::system(text).with_summary(summary).urgent();
        if let Err(error) = team.send(name, message).await {
            tracing::warn!(member = %name, %error, "not told about a conflict");
        }
    }
}
