//! Cleanup after a member stops: roster, tasks, journal, pane.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use futures::future::join_all;
use swarm_agent::find_transcript;
use swarm_os::Liveness;
use swarm_protocol::{Member, MemberName, SpawnId, TeamName};
use swarm_worktree::Owner;

use super::cancel_spawn::cancel_spawn;
use super::escalate::remote_process;
use super::pane::close_pane;
use super::worktree_outcome::{LeftWorktree, finish_worktree};
use super::{StopOutcome, StopReport, member_liveness};
use crate::cleanup::{former_spawns, left_panes};
use crate::process_list::{end_marked, end_member, end_spawns};
use crate::reconcile::reconcile_team;
use crate::{LeadError, SpawnContext};
use swarm_store::{BlockOn as _, StoppedSpawn};

/// Removes a stopped member from the roster, with its exit in the journal, releases its open tasks
/// and closes its pane. Aborts a spawn in progress. Remaining processes get SIGTERM and after
/// `grace` SIGKILL. Repeated calls have no effect.
pub async fn finish(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
    spawn_id: SpawnId,
    outcome: StopOutcome,
    grace: Duration,
) -> Result<StopReport, LeadError> {
    let mut report = StopReport::new(name.clone(), outcome);
    if cancel_spawn(spawn_context, team, spawn_id, grace, &mut report).await? {
        return Ok(report);
    }
    // Background processes of its shell carry its mark.
    let ended = end_member(spawn_context, team, name, spawn_id, grace).await;
    report.processes_left = ended.left;
    let files = spawn_context.store.team(team);
    let this_host = &spawn_context.process.host;
    let remote = remote_process(&*files, name, spawn_id, this_host).await;
    let stopped = StoppedSpawn::new(spawn_id, report.outcome.word());
    let Some(removed) = files.remove_member(name, Some(&stopped)).await? else {
        return Ok(report);
    };
    report.released = removed.released;
    match remote {
        Some(remote) => report.parked_on = remote.parked_on(),
        None => report.worktree = part(spawn_context, team, &removed.member).await,
    }
    if report.outcome == StopOutcome::AlreadyGone {
        report.transcript = conversation(spawn_context, &removed.member).await;
    }
    let closed = close_pane(spawn_context, &removed.member, spawn_id).await;
    report.pane_left = closed.err().map(|error| error.to_string());
    Ok(report)
}

/// Handles the worktree of a member, if it had one.
async fn part(
    spawn_context: &SpawnContext,
    team: &TeamName,
    member: &Member,
) -> Option<LeftWorktree> {
    let path = member.worktree_path.as_ref()?;
    let owner = Owner {
        team: Some(team.clone()),
        member: Some(member.name.clone()),
        agent: None,
        spawn_id: member.spawn_id(),
    };
    let now = spawn_context.clock.now();
    finish_worktree(&spawn_context.worktrees, path, owner, now).await
}

/// Returns the file of a member's conversation, if it exists.
async fn conversation(spawn_context: &SpawnContext, member: &Member) -> Option<PathBuf> {
    let (root, cwd, session) = (
        spawn_context.root.clone(),
        member.cwd.clone(),
        member.session()?,
    );
    let look = move || Some(find_transcript(&root, &cwd, session)).filter(|path| path.is_file());
    tokio::task::spawn_blocking(look).await.ok()?
}

/// Returns the roster entry of this name if the member is dead.
///
/// # Errors
/// Returns an error if the store fails.
pub fn dead_namesake(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
) -> Result<Option<Member>, LeadError> {
    let config = spawn_context.store.team(team).config().block_on()?;
    let dead = config.member(name).filter(|member| {
        let mark = member.swarm.as_ref();
        !name.is_lead() && mark.is_some_and(|mark| mark.died_at.is_some())
    });
    Ok(dead.cloned())
}

/// Returns the member whose settings and conversation a new spawn of this name continues: a dead or
/// departed one, or with `replace` also a running one.
///
/// # Errors
/// Returns an error if the store fails.
pub fn namesake(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
    replace: bool,
) -> Result<Option<Member>, LeadError> {
    let files = spawn_context.store.team(team);
    match files.config().block_on()?.member(name) {
        Some(member) if replace && !name.is_lead() => Ok(Some(member.clone())),
        Some(_) => dead_namesake(spawn_context, team, name),
        None => {
            let mut former = files.former_member(name).block_on()?;
            if let Some(former) = &mut former
                && !former.cwd.is_dir()
                && !has_conversation(spawn_context, former)
            {
                // It was removed with its member, or is on another machine.
                former.worktree_path = None;
            }
            Ok(former)
        }
    }
}

/// Returns whether a former spawn of a member left a conversation on this machine.
pub(crate) fn has_conversation(spawn_context: &SpawnContext, member: &Member) -> bool {
    let session = member.session();
    session
        .is_some_and(|session| find_transcript(&spawn_context.root, &member.cwd, session).is_file())
}

/// Terminates the child processes of a lost lead. Does nothing while a lead is running.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn clean_up_after_lead(
    spawn_context: &SpawnContext,
    team: &TeamName,
) -> Result<(), LeadError> {
    let lead = MemberName::lead();
    // Read before the lock is checked, so that a new lead is not in the record.
    let record = spawn_context.store.team(team).life_record(&lead).await;
    if spawn_context.store.team(team).liveness(&lead).await? == Liveness::Dead
        && let Some(record) = record
    {
        let ended = end_marked(spawn_context, record.spawn_id, spawn_context.kill_grace).await;
        if ended.left > 0 {
            tracing::error!(%team, left = ended.left, "processes of a lost lead are left");
        }
    }
    Ok(())
}

/// Terminates the child processes of a dead member. Its pane remains readable.
pub(crate) async fn clean_up_after(spawn_context: &SpawnContext, team: &TeamName, member: &Member) {
    if let Some(spawn_id) = member.spawn_id() {
        let (name, grace) = (&member.name, spawn_context.kill_grace);
        let ended = end_member(spawn_context, team, name, spawn_id, grace).await;
        if ended.left > 0 {
            tracing::error!(member = %member.name, left = ended.left, "processes of a dead member are left");
        }
    }
}

/// Removes every dead member from the roster, with its pane and child processes, before a team is
/// deleted. Does nothing while a member is running, because the team is then not deleted.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn clear_dead(
    spawn_context: &SpawnContext,
    team: &TeamName,
) -> Result<Vec<StopReport>, LeadError> {
    let files = spawn_context.store.team(team);
    reconcile_team(&files).await?;
    let config = files.config().await?;
    for member in config.teammates() {
        if member_liveness(&*files, &member.name)? == Liveness::Alive {
            return Ok(Vec::new());
        }
    }
    clean_up_after_lead(spawn_context, team).await?;
    let clearing = config.teammates().map(async |member| {
        let Some(dead) = dead_namesake(spawn_context, team, &member.name)? else {
            return Ok(None);
        };
        let Some(spawn_id) = dead.spawn_id() else {
            return Ok(None);
        };
        let outcome = StopOutcome::AlreadyGone;
        let grace = spawn_context.kill_grace;
        let report = finish(spawn_context, team, &dead.name, spawn_id, outcome, grace).await?;
        Ok::<_, LeadError>(Some(report))
    });
    // In parallel, so that they share the scans of the process table.
    let cleared = join_all(clearing).await.into_iter();
    let cleared = cleared
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?;
    match former_spawns(spawn_context, team) {
        Ok(former) => end_begun(spawn_context, team, &former).await,
        Err(error) => tracing::warn!(%team, %error, "processes of former spawns not looked for"),
    }
    close_panes_of_former(spawn_context, team).await;
    Ok(cleared)
}

/// Terminates the processes of aborted spawns. A killed spawner may leave a tmux command in
/// progress, so the process in the new pane may start after the rollback.
pub(super) async fn end_begun(
    spawn_context: &SpawnContext,
    team: &TeamName,
    spawns: &HashSet<SpawnId>,
) {
    if spawns.is_empty() {
        return;
    }
    match end_spawns(spawn_context, team, spawns).await {
        Ok(ended) if ended.left == 0 => {}
        Ok(ended) => {
            tracing::error!(%team, left = ended.left, "processes of former spawns are left");
        }
        Err(error) => tracing::error!(%team, %error, "processes of former spawns not looked for"),
    }
}

/// Closes the panes of spawns that are no longer in the roster: after the team is deleted, they can
/// no longer be identified.
async fn close_panes_of_former(spawn_context: &SpawnContext, team: &TeamName) {
    let left = match left_panes(spawn_context, team).await {
        Ok(left) => left,
        Err(error) => {
            tracing::warn!(%team, %error, "panes of former spawns not looked for");
            return;
        }
    };
    for pane in left {
        if let Err(error) = pane.close().await {
            tracing::warn!(%team, pane = %pane.tagged.pane.id, %error, "pane of a former spawn not closed");
        }
    }
}
