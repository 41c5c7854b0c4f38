//! Tells members while they still work that their work will conflict.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use swarm_protocol::{MemberName, PublishedBranch, TeamConfig};
use swarm_store::{Draft, MemberView, Team};
use swarm_supervisor::{blocking, fetch_published};
use swarm_worktree::{Colliding, Collision, Slug, Worktrees, seen};

/// Shortest time between two forecasts if no branch has moved.
const LEAST_GAP: Duration = Duration::from_secs(2);

/// How many times longer than a forecast the time to the next one is.
const GAP_PER_FORECAST: u32 = 20;

/// The forecast of conflicts between the members' worktrees.
#[derive(Debug, Default)]
pub(super) struct CollisionWatch {
    /// The commit of each member's worktree at the last forecast.
    heads: BTreeMap<PathBuf, String>,
    /// The progress of these members then.
    progress: Vec<u64>,
    /// When to look at uncommitted changes again.
    next: Option<Instant>,
    /// What members on other machines had published when it was last fetched.
    published: Vec<PublishedBranch>,
    /// The files of each pair that its members were informed about.
    told: BTreeMap<[Slug; 2], BTreeSet<String>>,
}

impl CollisionWatch {
    /// Tells both members of each pair that newly conflicts, if a branch moved or a member with a
    /// worktree did something. A failure is only logged: the merge finds the conflict too.
    pub(super) async fn check(
        &mut self,
        team: &dyn Team,
        config: &TeamConfig,
        views: &[MemberView],
        worktrees: &Worktrees,
    ) {
        let apart = views
            .iter()
            .filter_map(|view| Some((view, view.member.worktree_path.clone()?)));
        let (mut heads, mut progress) = (BTreeMap::new(), Vec::new());
        for (view, path) in apart {
            let Some(head) = seen(&path).and_then(|seen| seen.head) else {
                continue;
            };
            heads.insert(path, head);
            progress.push(view.report.as_ref().map_or(0, |report| report.progress));
        }
        let any = heads.keys().next().cloned();
        if team.is_remote() {
            self.fetch(team, config, worktrees, &mut heads).await;
        }
        let has_moved = heads != self.heads;
        let is_early = self.next.is_some_and(|next| Instant::now() < next);
        if !has_moved && (progress == self.progress || is_early) {
            return;
        }
        let any = any.or_else(|| lead_directory(config));
        let Some(directory) = any.filter(|_| heads.len() > 1) else {
            self.heads = heads;
            return;
        };
        let (worktrees, began) = (worktrees.clone(), Instant::now());
        let made = blocking(move || worktrees.forecast(&directory)).await;
        let gap = began.elapsed().saturating_mul(GAP_PER_FORECAST);
        self.next = Some(Instant::now() + gap.max(LEAST_GAP));
        let collisions = match made {
            Ok(collisions) => collisions,
            Err(error) => {
                // The heads are not updated, so a later check repeats the forecast.
                tracing::warn!(%error, "no forecast of conflicts");
                return;
            }
        };
        (self.heads, self.progress) = (heads, progress);
        for collision in &collisions {
            self.tell_once(team, config, collision).await;
        }
    }

    /// Fetches new work of members on other machines, and adds its commits.
    async fn fetch(
        &mut self,
        team: &dyn Team,
        config: &TeamConfig,
        worktrees: &Worktrees,
        heads: &mut BTreeMap<PathBuf, String>,
    ) {
        let published = match team.published_branches().await {
            Ok(published) => published,
            Err(error) => return tracing::warn!(%error, "published branches not read"),
        };
        if let Some(directory) = lead_directory(config).filter(|_| published != self.published) {
            match fetch_published(team, worktrees, &directory).await {
                Ok(failed) => {
                    for failed in failed {
                        tracing::warn!(error = %failed.why, "a published branch was not fetched");
                    }
                    self.published.clone_from(&published);
                }
                Err(error) => tracing::warn!(%error, "published branches not fetched"),
            }
        }
        let members = published.into_iter();
        let members = members.filter(|branch| config.member(&branch.member).is_some());
        heads.extend(members.map(|branch| {
            let place = format!("{}:{}", branch.host, branch.path.display());
            (PathBuf::from(place), branch.commit)
        }));
    }

    /// Tells the members of a pair, unless they know that these files conflict.
    async fn tell_once(&mut self, team: &dyn Team, config: &TeamConfig, collision: &Collision) {
        let [one, other] = &collision.worktrees;
        let told = self.told.entry([one.slug.clone(), other.slug.clone()]);
        let told = told.or_default();
        if collision.files.iter().all(|file| told.contains(file)) {
            return;
        }
        if let Some(pair) = members_of(collision, team, config) {
            tell(team, collision, &pair).await;
            told.extend(collision.files.iter().cloned());
        }
    }
}

/// Returns the directory of the lead, which is in the repository that the team works on.
fn lead_directory(config: &TeamConfig) -> Option<PathBuf> {
    let lead = config.member(&MemberName::lead())?;
    Some(lead.cwd.clone())
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
             Agree with {peer} now who changes what (SendMessage). {}",
            own.branch,
            other.branch,
            where_to_look(own, other, peer)
        );
        let summary = format!("conflict with {peer} in {files}");
        let message = Draft::system(text).with_summary(summary).urgent();
        if let Err(error) = team.send(name, message).await {
            tracing::warn!(member = %name, %error, "not told about a conflict");
        }
    }
}

/// Describes where a member sees the changes of the other one.
fn where_to_look(own: &Colliding, other: &Colliding, peer: &MemberName) -> String {
    let commits = format!(
        "`git diff {}...{}` shows {peer}'s commits",
        own.branch, other.branch
    );
    if other.uncommitted {
        format!("{commits}; {peer} also has uncommitted changes, which it does not show.")
    } else {
        format!("{commits}.")
    }
}
