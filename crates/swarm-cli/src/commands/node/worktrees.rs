//! The worktrees of members that have left their teams.

use std::collections::BTreeMap;
use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{Fuse, LocalBoxFuture};
use swarm_os::DirectoryWatcher;
use swarm_os::process::Process;
use swarm_protocol::{AgentId, Member, MemberName, PublishedBranch, SpawnId, TeamName};
use swarm_store::{Changes, Result, Team, Topic};
use swarm_supervisor::{blocking, finish_worktree};
use swarm_worktree::{Owner, Record, received_worktrees};
use tokio::time::{Instant, sleep_until};

use super::machine::Node;
use super::members::{is_deleted, is_on_hub};

/// What has to happen before a worktree can be handled. It may be awaited again after it happened.
pub(super) type Awaited = Fuse<LocalBoxFuture<'static, ()>>;

/// A worktree of a member that has left its team.
pub(super) struct LeftBehind {
    member: AgentId,
    record: Record,
}

impl LeftBehind {
    /// Returns the last commit of its branch that was merged on another machine.
    fn merged_in<'a>(&self, published: &'a [PublishedBranch]) -> Option<&'a str> {
        let is_its = |branch: &&PublishedBranch| {
            branch.member == self.member.name && branch.branch == self.record.branch
        };
        published.iter().find(is_its)?.merged.as_deref()
    }
}

/// Which worktrees can be handled, and what others wait for.
#[derive(Default)]
pub(super) struct FoundWorktrees {
    /// Those of members that have left their teams.
    pub(super) left: Vec<LeftBehind>,
    /// A member that has ended leaves its team, or the process of one that has left exits.
    pub(super) departures: Vec<Awaited>,
    /// The work in a worktree that was handled is merged, or the reason to keep it may have passed.
    pub(super) merges: Vec<Awaited>,
}

/// Looks for the worktrees of members that have left their teams. One that this process has handled is
/// handled again when work of its member was merged since, or the reason to keep it may have passed.
pub(super) async fn find_worktrees(
    node: &Node<'_>,
    watcher: &DirectoryWatcher,
    running: &[AgentId],
) -> Result<FoundWorktrees> {
    let own = node.own_repositories();
    let records = tokio::task::spawn_blocking(move || received_worktrees(&own)).await;
    let mut found = FoundWorktrees::default();
    let mut all_left: BTreeMap<TeamName, Vec<LeftBehind>> = BTreeMap::new();
    for record in records.unwrap_or_default() {
        let Owner {
            team: Some(team),
            member: Some(member),
            agent: None,
            spawn_id: Some(spawn),
        } = &record.owner
        else {
            continue;
        };
        let id = AgentId::new(member.clone(), team.clone());
        // While a member is spawned, its worktree is assigned to the spawner.
        let is_free = record.process.is_none() && !running.contains(&id);
        if !is_free || !node.has_answered(team) || !is_on_hub(node.app, team, &node.hub.url) {
            continue;
        }
        if record.in_use {
            let files = node.app.store.team(team);
            let roster = files.watch(watcher, &Topic::Roster);
            if is_in_roster(&*files, member, *spawn).await? {
                found.departures.push(change_of(roster));
                continue;
            }
            if let Some(process) = process_of(&*files, member, *spawn).await {
                let exit = exit_of(process).boxed_local().fuse();
                found.departures.push(exit);
                continue;
            }
        }
        let of_team = all_left.entry(team.clone()).or_default();
        of_team.push(LeftBehind { member: id, record });
    }
    for (team, all) in all_left {
        find_due(node, watcher, &team, all, &mut found).await;
    }
    Ok(found)
}

/// Adds the worktrees of a team that can be handled now, and what the others wait for.
async fn find_due(
    node: &Node<'_>,
    watcher: &DirectoryWatcher,
    team: &TeamName,
    all_left: Vec<LeftBehind>,
    found: &mut FoundWorktrees,
) {
    let files = node.app.store.team(team);
    let branches = files.watch(watcher, &Topic::Branches);
    let published = published(&*files).await;
    let now = Instant::now();
    let mut awaited = Vec::new();
    for left in all_left {
        let merged = left.merged_in(&published);
        let due = node.kept.lock().due(&left.record, merged, now);
        match due {
            Some(at) if at > now => found.merges.push(sleep_until(at).boxed_local().fuse()),
            Some(_) => {
                found.left.push(left);
                continue;
            }
            None => {}
        }
        let merged = merged.map(str::to_owned);
        awaited.push((left, merged));
    }
    if !awaited.is_empty() {
        let merge = merge_of(files, branches, awaited).boxed_local();
        found.merges.push(merge.fuse());
    }
}

/// Resolves when a worktree has another merged commit. The branches of a team are watched here, so
/// that the node looks at its teams only then.
async fn merge_of(
    team: Arc<dyn Team>,
    mut branches: Changes,
    kept: Vec<(LeftBehind, Option<String>)>,
) {
    loop {
        branches.changed().await;
        let published = match team.published_branches().await {
            Ok(published) => published,
            Err(error) if is_deleted(&error) => return pending().await,
            Err(_) => continue,
        };
        let is_merged = |(left, merged): &(LeftBehind, Option<String>)| {
            left.merged_in(&published) != merged.as_deref()
        };
        if kept.iter().any(is_merged) {
            return;
        }
    }
}

/// Returns the published branches of a team; none if the hub does not answer.
async fn published(team: &dyn Team) -> Vec<PublishedBranch> {
    let published = team.published_branches().await;
    published.unwrap_or_else(|error| {
        tracing::debug!(team = %team.name(), %error, "it is not known what was merged");
        Vec::new()
    })
}

/// Resolves when a topic may have changed.
fn change_of(mut changes: Changes) -> Awaited {
    async move { changes.changed().await }.boxed_local().fuse()
}

/// Removes a worktree without changes, and keeps another one. Git may be slow. Returns `None` if that
/// has begun already.
pub(super) fn begin_to_finish(
    node: &Node<'_>,
    left: LeftBehind,
) -> Option<impl Future<Output = ()>> {
    let (path, member) = (left.record.path.clone(), left.member.clone());
    let begin = |all: &mut BTreeMap<PathBuf, AgentId>| all.insert(path.clone(), member).is_none();
    let has_begun = node.in_work.send_if_modified(begin);
    has_begun.then_some(async move {
        // Nothing closes it.
        let _permit = node.handling.acquire().await;
        finish(node, left).await;
        node.in_work.send_modify(|all| drop(all.remove(&path)));
    })
}

async fn finish(node: &Node<'_>, left: LeftBehind) {
    let team = node.app.store.team(&left.member.team);
    let published = published(&*team).await;
    let merged = left.merged_in(&published).map(str::to_owned);
    let LeftBehind { member, record } = left;
    let mut is_noted = true;
    if let Some(commit) = merged.clone() {
        let (worktrees, path) = (node.worktrees.clone(), record.path.clone());
        let noted = blocking(move || worktrees.note_merged_elsewhere(&path, &commit));
        if let Err(error) = noted.await {
            tracing::warn!(%member, %error, "a merge on another machine is not noted");
            is_noted = false;
        }
    }
    let now = node.app.clock.now();
    let owner = record.owner.clone();
    let left = finish_worktree(&node.worktrees, &record.path, owner, now).await;
    let Some(mut left) = left else {
        return;
    };
    // On another machine.
    left.can_be_merged = false;
    left.may_pass |= !is_noted;
    let is_news = node
        .kept
        .lock()
        .note(&record, &left, merged, Instant::now());
    if is_news {
        let text = left.sentence();
        node.out.tell_of_member("worktree", &member, &text);
    }
    if left.kept {
        // The next look waits until it can be handled again.
        node.look_again.notify_one();
    }
}

/// Resolves when no worktree of the member is being kept or removed: a new spawn of the member would
/// start in it.
pub(super) async fn until_finished(node: &Node<'_>, member: &AgentId) {
    let mut in_work = node.in_work.subscribe();
    let is_free = |all: &BTreeMap<PathBuf, AgentId>| all.values().all(|one| one != member);
    if is_free(&in_work.borrow()) {
        return;
    }
    let text = format!(
        "the spawn of {} waits until git has handled the former worktree",
        member.name
    );
    node.out.tell_of_member("waits", member, &text);
    // The node holds the other end.
    drop(in_work.wait_for(is_free).await);
}

/// Returns whether a spawn is in the roster, or may return to it if the one that replaces it fails.
async fn is_in_roster(team: &dyn Team, name: &MemberName, spawn: SpawnId) -> Result<bool> {
    let may_be = |member: &Member| {
        let mark = member.swarm.as_ref();
        member.spawn_id() == Some(spawn) || mark.is_some_and(|mark| mark.reservation.is_some())
    };
    match team.config().await {
        Ok(config) => Ok(config.member(name).is_some_and(may_be)),
        Err(error) if is_deleted(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Resolves when a process has exited. If the system cannot tell, the next look finds out.
async fn exit_of(process: Process) {
    if let Err(error) = process.ended().await {
        tracing::warn!(pid = process.pid, %error, "the exit of a process is not noticed");
        pending::<()>().await;
    }
}

/// Returns the process of a member that has left its team, if it still runs: it releases its lease
/// before it exits, and a parked one exits now.
async fn process_of(team: &dyn Team, name: &MemberName, spawn: SpawnId) -> Option<Process> {
    let last = team.life_record_here(name).await;
    let last = last.filter(|last| last.spawn_id == spawn)?;
    let process = Process::running(last.pid)?;
    (process.start.to_string() == last.proc_start).then_some(process)
}
