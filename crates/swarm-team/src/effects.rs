//! Effects of changes: messages about assigned and unblocked tasks, and cleanup after dead members.

use std::sync::Arc;
use std::time::Duration;

use swarm_os::process;
use swarm_protocol::{
    ControlFrame, Member, MemberName, SpawnId, Task, TaskAssignment, TaskState, TaskStatus, UnixMs,
    unverified,
};
use swarm_store::{
    BlockOn as _, Draft, MemberView, NewMember, ReconcileReport, StoreError, Team, TeamView,
};

use crate::SpawnOrder;
use crate::marked::processes_of_members;
use crate::send::system_message;

/// Grace period for the processes of a former spawn to exit.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);

/// Notifies a member of a task assigned to it. Nothing is sent to the assigner, to an unknown
/// member, or about a blocked task: its owner is notified when the task becomes unblocked.
///
/// # Errors
/// Errors of the store.
pub async fn announce_assignment(
    team: &dyn Team,
    task: &Task,
    by: &MemberName,
    now: UnixMs,
) -> Result<(), StoreError> {
    if task.owner.is_none() {
        return Ok(());
    }
    let config = team.config().await?;
    let mut members = config.members.iter();
    let Some(owner) = members.find(|member| task.is_owned_by(&member.id_in(team.name()))) else {
        return Ok(());
    };
    let state = team.tasks().await?.state(task);
    if &owner.name == by || state == TaskState::Blocked || state.is_terminal() {
        return Ok(());
    }
    let frame = ControlFrame::TaskAssignment(TaskAssignment {
        task_id: task.id.to_string(),
        subject: task.subject.clone(),
        description: task.description.clone(),
        assigned_by: by.to_string(),
        timestamp: now.iso(),
    });
    team.send(&owner.name, Draft::control(by.as_str(), &frame))
        .await
        .map(drop)
}

/// Sends notices of unblocked tasks: to the owner of each, or to the lead if it has none. A failure
/// for one receiver does not affect the others.
///
/// # Errors
/// The first error of the store; the tasks are unblocked in any case.
pub async fn announce_unblocked(
    team: &dyn Team,
    tasks: &[Task],
    by: &MemberName,
) -> Result<(), StoreError> {
    if tasks.is_empty() {
        return Ok(());
    }
    let members = team.member_view().await?;
    let all = team.tasks().await?.tasks;
    let mut result = Ok(());
    for task in tasks {
        let (mut text, receivers) = news_of(task, &members, team);
        text.push_str(&foundations(task, &all));
        for name in receivers.into_iter().filter(|name| *name != by) {
            result = result.and(team.send(name, system_message(&text)).await.map(drop));
        }
    }
    result
}

/// Builds the message about an unblocked task, with its receiver.
fn news_of<'a>(
    task: &Task,
    members: &'a [MemberView],
    team: &dyn Team,
) -> (String, Vec<&'a MemberName>) {
    let (id, subject) = (task.id, &task.subject);
    let owns = |view: &&MemberView| task.is_owned_by(&view.member.id_in(team.name()));
    if let Some(owner) = members.iter().find(owns) {
        let text = format!(
            "Task #{id} ({subject}) is yours and no longer blocked: start on it.\n{}",
            task.description
        );
        return (text, vec![&owner.member.name]);
    }
    let text = format!(
        "Task #{id} ({subject}) is no longer blocked and has no owner: assign it with TaskUpdate."
    );
    let lead = members.iter().find(|view| view.member.name.is_lead());
    (
        text,
        lead.map(|view| &view.member.name).into_iter().collect(),
    )
}

/// Lists the tasks that a task builds on, with their results and whether checks have verified them.
fn foundations(task: &Task, all: &[Task]) -> String {
    let before = all.iter().filter(|one| task.blocked_by.contains(&one.id));
    let completed = before.filter(|one| one.status == TaskStatus::Completed);
    let line = |one: &Task| {
        let facts = one.swarm();
        let verified = unverified(&facts.checks).map_or_else(
            || "verified by its checks".to_owned(),
            |why| format!("UNVERIFIED, {why}: check its result before you rely on it"),
        );
        let result = facts.result.map(|result| format!(" Its result: {result}"));
        let (id, subject) = (one.id, &one.subject);
        let result = result.unwrap_or_default();
        format!("\nIt builds on #{id} ({subject}), {verified}.{result}")
    };
    completed.map(line).collect()
}

/// Terminates processes of former spawns: what a dead member's shell left running, and what a dead
/// spawner had started. All together, so that the process list is scanned once.
fn clean_up_after(team: &Arc<dyn Team>, spawns: &[(&MemberName, SpawnId)]) {
    if spawns.is_empty() {
        return;
    }
    let target = processes_of_members(team, spawns.iter().copied());
    let ended = process::end_blocking(&target, LEFTOVER_GRACE);
    if ended.left > 0 {
        tracing::error!(team = %team.name(), left = ended.left, "processes of former spawns are still running");
    }
}

/// Reconciles a team like [`reconcile`] and returns its state. Usually nothing has changed, and the
/// files are read once for both. On a full disk, returns the observed state with the error that
/// prevented recording it.
///
/// # Errors
/// Otherwise as [`reconcile`].
pub fn reconcile_and_view(
    team: &Arc<dyn Team>,
) -> Result<(TeamView, Option<StoreError>), StoreError> {
    let view = team.view().block_on()?;
    if !view.needs_reconcile {
        return Ok((view, None));
    }
    match reconcile(team) {
        Ok(_) => Ok((team.view().block_on()?, None)),
        Err(error) if error.is_disk_full() => Ok((team.view().block_on()?, Some(error))),
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
/// Errors of [`swarm_store::Roster::reserve_into`].
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
    let undone = undone.map(|undone| (&undone.member, undone.spawn_id));
    let died = done.died.iter().filter(|departure| !departure.in_order);
    let died = died.map(|departure| (&departure.member, departure.spawn_id));
    clean_up_after(team, &undone.chain(died).collect::<Vec<_>>());
}
