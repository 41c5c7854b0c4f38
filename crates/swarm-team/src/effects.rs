//! Cleanup after dead members.

use std::sync::Arc;
use std::time::Duration;

use swarm_os::{Liveness, process};
use swarm_protocol::{Member, MemberName, MemberState, SpawnId};
use swarm_store::{
    BlockOn as _, MemberView, NewMember, ReconcileReport, StoreError, Team, TeamView,
};

use crate::SpawnOrder;
use crate::marked::processes_of_members;

/// Grace period for the processes of a former spawn to exit.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);

/// Terminates processes of former spawns: what a dead member's shell left running, and what a dead
/// spawner had started. All together, so that the process list is scanned once.
fn clean_up_after(
    team: &Arc<dyn Team>,
    undone: &[(&MemberName, SpawnId)],
    died: &[(&MemberName, SpawnId)],
) {
    let spawns = [undone, died].concat();
    if spawns.is_empty() {
        return;
    }
    let mut target = processes_of_members(team, spawns);
    if team.is_remote() {
        // A member that has only lost its lease keeps the conversation, and parks. What it has started
        // must stop, because its tasks may have another owner.
        target.spared = processes_of_members(team, died.iter().copied()).processes;
    }
    let ended = process::end_blocking(&target, LEFTOVER_GRACE);
    if ended.left > 0 {
        tracing::error!(team = %team.name(), left = ended.left, "processes of former spawns are still running");
    }
}

/// Reconciles a team like [`reconcile`] if its state, as it was `seen`, requires that, and returns
/// its state then. On a full disk or hub, or while another process holds a lock, returns the observed
/// state with the error that prevented recording it.
///
/// # Errors
/// Otherwise as [`reconcile`].
pub fn reconcile_and_view(
    team: &Arc<dyn Team>,
    seen: TeamView,
) -> Result<(TeamView, Option<StoreError>), StoreError> {
    if !seen.needs_reconcile {
        return Ok((seen, None));
    }
    match reconcile(team) {
        Ok(_) => Ok((team.view().block_on()?, None)),
        Err(error) if error.prevents_only_changes() => Ok((team.view().block_on()?, Some(error))),
        Err(error) => Err(error),
    }
}

/// Reconciles a team's records with its running processes, and terminates processes left by dead
/// members and by spawns of dead spawners. Every command that opens a team calls this; each death
/// is recorded by one of them.
///
/// # Errors
/// The first error of the store; other deaths are still recorded and their processes terminated.
pub fn reconcile(team: &Arc<dyn Team>) -> Result<ReconcileReport, StoreError> {
    let mut done = ReconcileReport::default();
    let outcome = team.reconcile_into(&mut done).block_on();
    attend(team, &done);
    outcome.map(|()| done)
}

/// Reserves a roster entry for a spawn, and terminates processes left by an earlier spawn of that
/// name.
///
/// # Errors
/// Errors of [`swarm_store::Spawns::reserve_into`].
pub async fn reserve(team: &Arc<dyn Team>, new: NewMember) -> Result<Member, StoreError> {
    let mut done = ReconcileReport::default();
    let reserved = team.reserve_into(new, &mut done).await;
    if done != ReconcileReport::default() {
        let team = Arc::clone(team);
        let attended = tokio::task::spawn_blocking(move || attend(&team, &done));
        if let Err(error) = attended.await {
            tracing::error!(%error, "cannot terminate the processes of an earlier member");
        }
    }
    reserved
}

/// Stops what a member on this machine has started whose lease is over, because its tasks may have
/// another owner. Its process may have been killed; a frozen one is spared, keeps the conversation and
/// parks.
///
/// # Errors
/// As [`reconcile_and_view`].
pub fn stop_work_of_lost(team: &Arc<dyn Team>, name: &MemberName) -> Result<(), StoreError> {
    let Some(life) = team.life_record_here(name).block_on() else {
        return Ok(());
    };
    let spawn = life.spawn_id;
    // Whoever recorded its death may know no processes of this machine.
    let (view, _unrecorded) = reconcile_and_view(team, team.view().block_on()?)?;
    let is_its = |view: &&MemberView| view.member.spawn_id() == Some(spawn);
    let is_lost = match view.members.iter().find(is_its) {
        Some(view) => view.state == MemberState::Dead,
        // It was removed, or its name has a new spawn.
        None => !holds_lease(team, name, spawn)?,
    };
    if is_lost {
        clean_up_after(team, &[], &[(name, spawn)]);
    }
    Ok(())
}

/// Returns whether a spawn holds the lease of its name. One that has left the team may still be
/// ending.
fn holds_lease(
    team: &Arc<dyn Team>,
    name: &MemberName,
    spawn: SpawnId,
) -> Result<bool, StoreError> {
    let is_held = team.lease(name).block_on()? != Liveness::Dead;
    let holder = team.life_record(name).block_on();
    Ok(is_held && holder.is_some_and(|holder| holder.spawn_id == spawn))
}

/// Cleans up processes and order files of dead members and rolled back spawns.
fn attend(team: &Arc<dyn Team>, done: &ReconcileReport) {
    for undone in &done.rolled_back {
        // The spawner died, perhaps before the child read its order, which contains keys.
        let directory = team.local_directory(&undone.member);
        if let Err(error) = SpawnOrder::discard(&directory, undone.spawn_id) {
            tracing::error!(team = %team.name(), member = %undone.member, %error, "spawn order not removed");
        }
    }
    let undone = done.rolled_back.iter();
    let undone: Vec<_> = undone
        .map(|undone| (&undone.member, undone.spawn_id))
        .collect();
    let died = done.died.iter().filter(|departure| !departure.in_order);
    let died: Vec<_> = died
        .map(|departure| (&departure.member, departure.spawn_id))
        .collect();
    clean_up_after(team, &undone, &died);
}
