//! After a member's end: roster, tasks, journal, pane.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use futures::future::join_all;
use swarm_agent::find_transcript;
use swarm_os::Liveness;
use swarm_panes::{Pane, PaneError, backend_for_pane};
use swarm_protocol::{Event, Member, MemberName, SpawnId, TeamName};

use super::begun::cancel_spawn;
use super::worktree_outcome::part;
use super::{StopOutcome, StopReport, member_liveness};
use crate::cleanup::{former_spawns, left_panes};
use crate::process_list::{canonical, end_marked, end_member, end_spawns};
use crate::reconcile::reconcile_team;
use crate::{LeadError, SpawnContext};

/// Takes a member that has ended out of the roster, gives its open tasks back, closes its pane and enters its end in
/// the journal. A spawn that was ended under way is undone. Processes that are left get SIGTERM and after `grace` SIGKILL. Whoever
/// comes second finds nothing left to do.
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
    // Programs that its shell left behind carry its mark.
    let ended = end_member(spawn_context, team, name, spawn_id, grace).await;
    report.processes_left = ended.left;
    let files = spawn_context.store.team(team);
    let taken = files.asynchronous().remove_member(name, Some(&spawn_id));
    let Some(removed) = taken.await? else {
        return Ok(report);
    };
    report.released = removed.released;
    report.worktree = part(spawn_context, team, &removed.member).await;
    if report.outcome == StopOutcome::AlreadyGone {
        report.transcript = conversation(spawn_context, &removed.member).await;
    }
    let closed = close_pane(spawn_context, &removed.member, spawn_id).await;
    report.pane_left = closed.err().map(|error| error.to_string());
    // A reconcile that saw the end first has entered it.
    let recorded = removed
        .member
        .swarm
        .as_ref()
        .is_some_and(|mark| mark.died_at.is_some());
    if !recorded {
        let event = Event::MemberStopped {
            member: name.clone(),
            spawn_id,
            how: report.outcome.word().to_owned(),
        };
        files.asynchronous().journal(event).await?;
    }
    Ok(report)
}

/// The file of a member's conversation, if there is one.
async fn conversation(spawn_context: &SpawnContext, member: &Member) -> Option<PathBuf> {
    let (root, cwd, session) = (
        spawn_context.root.clone(),
        member.cwd.clone(),
        member.session()?,
    );
    let look = move || Some(find_transcript(&root, &cwd, session)).filter(|path| path.is_file());
    tokio::task::spawn_blocking(look).await.ok()?
}

/// The entry of a member that has died and was not taken out of the roster, if that is what the name stands for.
///
/// # Errors
/// Whatever the store says.
pub fn dead_namesake(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
) -> Result<Option<Member>, LeadError> {
    let config = spawn_context.store.team(team).config()?;
    let dead = config.member(name).filter(|member| {
        let mark = member.swarm.as_ref();
        !name.is_lead() && mark.is_some_and(|mark| mark.died_at.is_some())
    });
    Ok(dead.cloned())
}

/// The member whose conversation a new spawn of this name carries on: one that is dead or that has left the team.
///
/// # Errors
/// Whatever the store says.
pub fn namesake(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
) -> Result<Option<Member>, LeadError> {
    let config = spawn_context.store.team(team).config()?;
    if config.member(name).is_some() {
        return dead_namesake(spawn_context, team, name);
    }
    let former = spawn_context.store.team(team).former_member(name)?;
    let has_conversation = |member: &Member| {
        let session = member.session();
        session.is_some_and(|session| {
            find_transcript(&spawn_context.root, &member.cwd, session).is_file()
        })
    };
    Ok(former.filter(has_conversation))
}

/// Ends what the shell of a team's lost lead left running. Does nothing while a lead lives.
///
/// # Errors
/// Whatever the store says.
pub async fn clean_up_after_lead(
    spawn_context: &SpawnContext,
    team: &TeamName,
) -> Result<(), LeadError> {
    let lead = MemberName::lead();
    // Read before the look at the lock: whoever takes the lead now is not in the record that was read.
    let record = spawn_context.store.team(team).life_record(&lead);
    if spawn_context.store.team(team).liveness(&lead)? == Liveness::Dead
        && let Some(record) = record
    {
        let ended = end_marked(spawn_context, record.spawn_id, spawn_context.kill_grace).await;
        if ended.left > 0 {
            tracing::error!(%team, left = ended.left, "processes of a lost lead are left");
        }
    }
    Ok(())
}

/// Ends what a dead member's shell left running. Its pane can still be read.
pub(crate) async fn clean_up_after(spawn_context: &SpawnContext, team: &TeamName, member: &Member) {
    if let Some(spawn_id) = member.spawn_id() {
        let (name, grace) = (&member.name, spawn_context.kill_grace);
        let ended = end_member(spawn_context, team, name, spawn_id, grace).await;
        if ended.left > 0 {
            tracing::error!(member = %member.name, left = ended.left, "processes of a dead member are left");
        }
    }
}

/// Closes the pane that a dead member left to be read.
pub(crate) async fn close_remaining_pane(spawn_context: &SpawnContext, member: &Member) {
    if let Some(spawn_id) = member.spawn_id()
        && let Err(error) = close_pane(spawn_context, member, spawn_id).await
    {
        // The one that was asked for has a pane of its own by now.
        tracing::warn!(member = %member.name, %error, "pane of a dead member not closed");
    }
}

/// Takes every dead member out of the roster, with its pane and whatever its shell left running, before a team is
/// deleted. Does nothing while anybody lives: then the team is not deleted.
///
/// # Errors
/// Whatever the store says.
pub async fn clear_dead(
    spawn_context: &SpawnContext,
    team: &TeamName,
) -> Result<Vec<StopReport>, LeadError> {
    let files = spawn_context.store.team(team);
    reconcile_team(&files).await?;
    let config = files.config()?;
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
    // All at the same time: they share the looks through the processes of this machine.
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

/// Ends what spawns that were undone have left. A spawner that is killed leaves a tmux that is about to do what it was told, so that
/// the process that waits in a new pane may come after the undoing.
pub(super) async fn end_begun(
    spawn_context: &SpawnContext,
    team: &TeamName,
    spawns: &HashSet<SpawnId>,
) {
    if spawns.is_empty() {
        return;
    }
    let ended = end_spawns(spawn_context, team, spawns).await;
    if ended.left > 0 {
        tracing::error!(%team, left = ended.left, "processes of former spawns are left");
    }
}

/// Closes the panes of spawns that are in the roster no more: once the team is gone, nobody knows them for its own.
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

/// Closes a member's pane. The process in it has ended and the roster says so: what fails here leaves a pane to the
/// user's eye.
async fn close_pane(
    spawn_context: &SpawnContext,
    member: &Member,
    spawn_id: SpawnId,
) -> Result<(), PaneError> {
    let Some(backend) = &member.backend_type else {
        return Ok(());
    };
    if member.tmux_pane_id.is_none() {
        return Ok(());
    }
    let socket = member.swarm.as_ref().and_then(|swarm| swarm.socket.clone());
    let pane = Pane {
        id: member.tmux_pane_id.clone(),
        socket: socket.clone(),
        position: None,
    };
    let backend = backend_for_pane(backend, socket.as_deref(), &spawn_context.terminal)?;
    let root = canonical(&spawn_context.root);
    let panes = backend.all_panes().await?;
    let mut its = panes.iter().filter(|tagged| tagged.spawn_id == spawn_id);
    if its.any(|tagged| tagged.is_of_another(&root)) {
        return Ok(());
    }
    backend.close(&pane, &spawn_id).await
}
