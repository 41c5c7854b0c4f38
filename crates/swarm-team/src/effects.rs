//! Who is told when tasks change: an assigned owner, and whoever can start on a task that became free.

use crate::send::summary_of;
use swarm_protocol::{
    ControlFrame, LEAD_NAME, MemberName, MemberState, Task, TaskAssignment, TaskState, TeamName,
    UnixMs,
};
use swarm_store::{Draft, ReconcileReport, StoreError, TeamStore};

/// Tells a member that a task is its own. Nothing is sent to the one who assigned, nor to somebody unknown, nor about a
/// task that is still blocked: its owner hears of it when it can start.
///
/// # Errors
/// Whatever the store says.
pub fn announce_assignment(
    store: &dyn TeamStore,
    team: &TeamName,
    task: &Task,
    by: &MemberName,
    now: UnixMs,
) -> Result<(), StoreError> {
    let Some(owner) = task
        .owner
        .as_deref()
        .and_then(|owner| MemberName::parse(owner).ok())
    else {
        return Ok(());
    };
    if &owner == by || store.config(team)?.member(&owner).is_none() {
        return Ok(());
    }
    if store.tasks(team)?.state(task) == TaskState::Blocked {
        return Ok(());
    }
    let frame = ControlFrame::TaskAssignment(TaskAssignment {
        task_id: task.id.to_string(),
        subject: task.subject.clone(),
        description: task.description.clone(),
        assigned_by: by.to_string(),
        timestamp: now.iso(),
    });
    store
        .send(team, &owner, Draft::control(by.as_str(), &frame))
        .map(drop)
}

/// Tells whoever can act that tasks became free: the owner of each, or the idle teammates where it has none.
///
/// # Errors
/// Whatever the store says; the tasks are free all the same.
pub fn announce_unblocked(
    store: &dyn TeamStore,
    team: &TeamName,
    tasks: &[Task],
    by: &MemberName,
) -> Result<(), StoreError> {
    if tasks.is_empty() {
        return Ok(());
    }
    let config = store.config(team)?;
    for task in tasks {
        let owner = task
            .owner
            .as_deref()
            .and_then(|owner| MemberName::parse(owner).ok());
        match owner {
            Some(owner) if config.member(&owner).is_some() => {
                if &owner != by {
                    let text = format!(
                        "Task #{} ({}) is yours and no longer blocked: start on it.\n{}",
                        task.id, task.subject, task.description
                    );
                    store.send(team, &owner, system(&text))?;
                }
            }
            _ => {
                let text = format!(
                    "Task #{} ({}) is no longer blocked and nobody owns it: claim it with TaskUpdate if it \
                     suits you.",
                    task.id, task.subject
                );
                for member in config.teammates().filter(|member| &member.name != by) {
                    let idle = store
                        .state(team, &member.name)?
                        .is_some_and(|report| report.state == MemberState::Idle);
                    if idle {
                        store.send(team, &member.name, system(&text))?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// What the program says; the first line is its summary.
fn system(text: &str) -> Draft {
    Draft::system(LEAD_NAME, text).with_summary(summary_of(text, None))
}

/// Brings a team's records in line with who is alive, and tells the lead of every member that ended without having
/// said so. Whoever opens a team calls this; one of all callers notices each death.
///
/// # Errors
/// Whatever the store says.
pub fn reconcile(store: &dyn TeamStore, team: &TeamName) -> Result<ReconcileReport, StoreError> {
    let report = store.reconcile(team)?;
    for departure in report.died.iter().filter(|departure| !departure.in_order) {
        let tasks = match &departure.released[..] {
            [] => String::new(),
            ids => {
                let ids: Vec<String> = ids.iter().map(|id| format!("#{id}")).collect();
                format!(" Given back: {}.", ids.join(", "))
            }
        };
        let text = format!(
            "{} died unexpectedly ({}).{tasks} Spawn it again under the same name to carry on its conversation, or \
             give its work to somebody else.",
            departure.member, departure.reason
        );
        store.send(team, &MemberName::lead(), system(&text))?;
    }
    Ok(report)
}
