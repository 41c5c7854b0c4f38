//! The worktrees of members that have left their teams.

use std::time::Duration;

use swarm_os::DirectoryWatcher;
use swarm_os::process::Process;
use swarm_protocol::{AgentId, Member, MemberName, SpawnId};
use swarm_store::{Changes, Result, StoreError, Team, Topic};
use swarm_supervisor::{LeftWorktree, finish_worktree};
use swarm_worktree::{Owner, received_worktrees};

use super::machine::Node;
use super::members::is_on_hub;

/// How long the process of a member that has left its team may take to exit.
const EXIT: Duration = Duration::from_secs(5);

/// Handles the worktrees of members that have left their teams: those without changes are removed. Returns
/// the rosters of the members that have ended and not left.
pub(super) async fn finish_worktrees(
    node: &Node<'_>,
    watcher: &DirectoryWatcher,
    running: &[AgentId],
) -> Result<Vec<Changes>> {
    let own = node.own_repositories();
    let records = tokio::task::spawn_blocking(move || received_worktrees(&own)).await;
    let mut rosters = Vec::new();
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
        let is_held = record.in_use && record.process.is_none() && !running.contains(&id);
        if !is_held || !is_on_hub(node.app, team, &node.hub.url) {
            continue;
        }
        let files = node.app.store.team(team);
        let roster = files.watch(watcher, &Topic::Roster);
        if is_in_roster(&*files, member, *spawn).await? {
            rosters.push(roster);
            continue;
        }
        wait_for_exit(&*files, member, *spawn).await;
        let (owner, now) = (record.owner.clone(), node.app.clock.now());
        let left = finish_worktree(&node.worktrees, &record.path, owner, now).await;
        if let Some(left) = left {
            let left = LeftWorktree {
                // On another machine.
                can_be_merged: false,
                ..left
            };
            node.out.tell_of_member("worktree", &id, &left.sentence());
        }
    }
    Ok(rosters)
}

/// Returns whether a spawn is in the roster, or may return to it if the one that replaces it fails.
async fn is_in_roster(team: &dyn Team, name: &MemberName, spawn: SpawnId) -> Result<bool> {
    let may_be = |member: &Member| {
        let mark = member.swarm.as_ref();
        member.spawn_id() == Some(spawn) || mark.is_some_and(|mark| mark.reservation.is_some())
    };
    match team.config().await {
        Ok(config) => Ok(config.member(name).is_some_and(may_be)),
        Err(StoreError::NotOnHub { .. } | StoreError::TeamNotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Waits for the process of a member that has left its team: it releases its lease before it exits, and a
/// parked one exits now.
async fn wait_for_exit(team: &dyn Team, name: &MemberName, spawn: SpawnId) {
    let last = team.life_record_here(name).await;
    let process = last.filter(|last| last.spawn_id == spawn).and_then(|last| {
        let process = Process::running(last.pid)?;
        (process.start.to_string() == last.proc_start).then_some(process)
    });
    if let Some(process) = process {
        let ended = tokio::time::timeout(EXIT, process.ended()).await;
        tracing::debug!(%name, in_time = ended.is_ok(), "waited for the exit of a member");
    }
}
