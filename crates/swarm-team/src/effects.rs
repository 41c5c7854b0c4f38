//! Who is told when tasks change: an assigned owner, and whoever can start on a task that became
//! free.

use std::sync::Arc;
use std::time::Duration;

use swarm_os::process;
use swarm_protocol::{
    ControlFrame, Member, MemberName, SpawnId, Task, TaskAssignment, TaskState, UnixMs,
};
use swarm_store::blocking::Team;
use swarm_store::{Draft, MemberView, NewMember, ReconcileReport, StoreError, TeamView};

use crate::SpawnOrder;
use crate::marked::processes_of_members;
use crate::send::summary_of;

/// How long the processes of a spawn that is no more get to end by themselves.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);

/// Tells a member that a task is its own. Nothing is sent to the one who assigned, nor to somebody
/// unknown, nor about a task that nobody can work on: the owner of a blocked one hears of it when
/// it can start.
///
/// # Errors
/// Whatever the store says.
pub fn announce_assignment(
    team: &dyn Team,
    task: &Task,
    by: &MemberName,
    now: UnixMs,
) -> Result<(), StoreError> {
    if task.owner.is_none() {
        return Ok(());
    }
    let config = team.config()?;
    let mut members = config.members.iter();
    let Some(owner) = members.find(|member| task.is_owned_by(&member.id_in(team.name()))) else {
        return Ok(());
    };
    let state = team.tasks()?.state(task);
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
        .map(drop)
}

/// Tells whoever can act that tasks became free: the owner of each, or the lead where it has none,
/// since nobody is given work that was not meant for it. One that cannot be told keeps nobody else
/// from hearing of it.
///
/// # Errors
/// The first of whatever the store says; the tasks are free all the same.
pub fn announce_unblocked(
    team: &dyn Team,
    tasks: &[Task],
    by: &MemberName,
) -> Result<(), StoreError> {
    if tasks.is_empty() {
        return Ok(());
    }
    let members = team.member_view()?;
    let mut told = Ok(());
    for task in tasks {
        let (text, receivers) = news_of(task, &members, team);
        for name in receivers.into_iter().filter(|name| *name != by) {
            told = told.and(team.send(name, system(&text)).map(drop));
        }
    }
    told
}

/// What is said about a task that became free, and to whom.
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

/// What the program says; the first line is its summary.
fn system(text: &str) -> Draft {
    Draft::system(text).with_summary(summary_of(text, None))
}

/// Ends what spawns that are no more have left: what a dead member's shell left running, and what a
/// spawner that died had begun to start. All at the same time, so that the processes of this
/// machine are looked through once.
fn clean_up_after(team: &dyn Team, spawns: &[(&MemberName, SpawnId)]) {
    if spawns.is_empty() {
        return;
    }
    let target = processes_of_members(team, spawns.iter().copied());
    let ended = process::end_blocking(&target, LEFTOVER_GRACE);
    if ended.left > 0 {
        tracing::error!(team = %team.name(), left = ended.left, "processes of former spawns are still running");
    }
}

/// Brings a team's records in line as [`reconcile`] does, and tells how it stands then. Nearly
/// always nothing has happened, and one look at the files is enough for both. On a disk that takes
/// nothing more it stands as is to be seen, and the error tells why that is not entered.
///
/// # Errors
/// As [`reconcile`] otherwise.
pub fn look(team: &dyn Team) -> Result<(TeamView, Option<StoreError>), StoreError> {
    let view = team.look()?;
    if !view.is_out_of_line {
        return Ok((view, None));
    }
    match reconcile(team) {
        Ok(_) => Ok((team.look()?, None)),
        Err(error) if error.is_for_want_of_room() => Ok((team.look()?, Some(error))),
        Err(error) => Err(error),
    }
}

/// Brings a team's records in line with who is alive, and ends what members left running that died
/// and what spawns began whose spawner died. Whoever opens a team calls this; one of all callers
/// notices each death.
///
/// # Errors
/// The first of whatever the store says; every death is entered that can be, and what those left is
/// ended.
pub fn reconcile(team: &dyn Team) -> Result<ReconcileReport, StoreError> {
    let mut done = ReconcileReport::default();
    let outcome = team.reconcile_into(&mut done);
    attend(team, &done);
    outcome.map(|()| done)
}

/// Holds a place for a spawn, and ends what an earlier one of that name left running.
///
/// # Errors
/// Whatever [`swarm_store::Roster::reserve_into`] says.
pub async fn reserve(team: &Arc<dyn Team>, new: NewMember) -> Result<Member, StoreError> {
    let mut done = ReconcileReport::default();
    let reserved = team.asynchronous().reserve_into(new, &mut done).await;
    if done != ReconcileReport::default() {
        let team = Arc::clone(team);
        let attended = tokio::task::spawn_blocking(move || attend(&*team, &done));
        if let Err(error) = attended.await {
            tracing::error!(%error, "cannot terminate the processes of an earlier member");
        }
    }
    reserved
}

/// Looks after what members that died and spawns that were undone have left beside the records.
fn attend(team: &dyn Team, done: &ReconcileReport) {
    for undone in &done.rolled_back {
        // Its spawner died, perhaps before the child took its order, with the keys in it.
        let directory = team.member_dir(&undone.member);
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
