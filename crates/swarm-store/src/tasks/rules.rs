//! Rules for changing tasks. No I/O.

use swarm_protocol::{AgentId, CheckRun, FailedTask, SpawnId, SwarmTask, Task, TaskStatus, UnixMs};

use super::{Actor, TaskList};
use crate::{Result, StoreError};

/// Number of owner deaths after which a task fails.
const MAX_ATTEMPTS: u32 = 3;

/// The holder of a task, relative to an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Holder {
    Unowned,
    Actor,
    /// Another member, as a description.
    Other(String),
}

/// Returns the holder. Another spawn of the same name is a different holder.
pub(super) fn holder(task: &Task, actor: &Actor) -> Holder {
    let Some(owner) = task.owner.as_deref().filter(|owner| !owner.is_empty()) else {
        return Holder::Unowned;
    };
    if !task.is_owned_by(&actor.agent_id) {
        return Holder::Other(owner.to_owned());
    }
    match claim_of(task, &actor.agent_id) {
        Some(spawn) if actor.spawn_id != Some(spawn) => {
            Holder::Other(format!("an earlier spawn of {owner}"))
        }
        _ => Holder::Actor,
    }
}

/// Returns the spawn that claimed the task for its owner. The claim of a former owner does not
/// count if another program has replaced the owner.
pub(super) fn claim_of(task: &Task, owner: &AgentId) -> Option<SpawnId> {
    let swarm = task.swarm();
    swarm
        .spawn_id
        .filter(|_| swarm.claimed_by.as_ref() == Some(owner))
}

/// Allows only the holder, any actor if there is none, or a person who forces it.
pub(super) fn require_hold(task: &Task, actor: &Actor) -> Result<()> {
    match holder(task, actor) {
        Holder::Other(owner) if !(actor.person && actor.force) => {
            Err(StoreError::NotYours { id: task.id, owner })
        }
        _ => Ok(()),
    }
}

/// Allows the holder, any actor if there is none, and the lead.
pub(super) fn require_charge(task: &Task, actor: &Actor) -> Result<()> {
    match holder(task, actor) {
        Holder::Other(owner) if !actor.is_in_charge() => {
            Err(StoreError::NotYours { id: task.id, owner })
        }
        _ => Ok(()),
    }
}

/// Rejects the deletion of a task whose checks were set by another actor: its owner could replace
/// it by a task without them.
pub(super) fn require_own_checks(task: &Task, actor: &Actor) -> Result<()> {
    let checks = task.checks();
    let other = checks.iter().find(|check| check.by != actor.author());
    match other {
        Some(check) if !actor.is_in_charge() => Err(StoreError::ChecksOfOther {
            id: task.id,
            author: check.by.clone(),
        }),
        _ => Ok(()),
    }
}

/// Completes only a task whose checks have all passed in this change.
pub(super) fn require_checked(task: &Task, runs: &[CheckRun]) -> Result<()> {
    let checks = task.checks();
    if checks.is_empty() || (runs.len() == checks.len() && runs.iter().all(CheckRun::has_passed)) {
        return Ok(());
    }
    Err(StoreError::Unchecked(task.id))
}

/// Rejects work on a blocked or failed task.
pub(super) fn require_ready(list: &TaskList, task: &Task) -> Result<()> {
    if let Some(failed) = task.swarm().failed {
        return Err(StoreError::TaskFailed {
            id: task.id,
            attempts: failed.attempts,
            reason: failed.reason,
        });
    }
    let by: Vec<_> = task
        .blocked_by
        .iter()
        .copied()
        .filter(|id| !list.is_settled(*id))
        .collect();
    if by.is_empty() {
        Ok(())
    } else {
        Err(StoreError::Blocked { id: task.id, by })
    }
}

/// Checks whether the task can be claimed; `false` if the actor already works on it.
pub(super) fn is_claimable(list: &TaskList, task: &Task, actor: &Actor) -> Result<bool> {
    let id = task.id;
    match (task.status, holder(task, actor)) {
        (TaskStatus::Completed, _) => Err(StoreError::TaskResolved(id)),
        (_, Holder::Other(owner)) => Err(StoreError::Taken { id, owner }),
        (TaskStatus::InProgress, Holder::Actor) => Ok(false),
        (TaskStatus::InProgress, Holder::Unowned) => Err(StoreError::Taken {
            id,
            owner: "an unnamed owner".to_owned(),
        }),
        (TaskStatus::Pending, _) => require_ready(list, task).map(|()| true),
    }
}

/// Records the actor as the one working on the task.
pub(super) fn start(task: &mut Task, agent: &AgentId, spawn_id: Option<SpawnId>, now: UnixMs) {
    task.owner = Some(agent.name.to_string());
    task.status = TaskStatus::InProgress;
    change_mark(task, |mark| {
        mark.claimed_by = Some(agent.clone());
        mark.spawn_id = spawn_id;
        mark.claimed_at = Some(now);
    });
}

/// Releases the task and clears its failures.
pub(super) fn give_back(task: &mut Task) {
    task.owner = None;
    task.status = TaskStatus::Pending;
    drop_claim(task);
    if task.has_failed() {
        change_mark(task, |mark| {
            mark.failed = None;
            mark.note = None;
            mark.attempt = 0;
        });
    }
}

/// Counts an attempt that ended with the death of the owner.
pub(super) fn count_attempt(task: &mut Task, reason: &str) {
    change_mark(task, |mark| {
        mark.attempt = mark.attempt.saturating_add(1);
        mark.note = Some(reason.to_owned());
        if mark.attempt >= MAX_ATTEMPTS {
            mark.failed = Some(FailedTask {
                reason: reason.to_owned(),
                attempts: mark.attempt,
            });
        }
    });
}

/// Clears the claim.
pub(super) fn drop_claim(task: &mut Task) {
    let mark = task.swarm();
    if mark.claimed_by.is_some() || mark.spawn_id.is_some() || mark.claimed_at.is_some() {
        change_mark(task, |mark| {
            mark.claimed_by = None;
            mark.spawn_id = None;
            mark.claimed_at = None;
        });
    }
}

/// Changes swarm's metadata of the task.
pub(super) fn change_mark(task: &mut Task, change: impl FnOnce(&mut SwarmTask)) {
    let mut mark = task.swarm();
    change(&mut mark);
    task.set_swarm(&mark);
}

/// Raises the version of a changed task; returns whether it has changed.
pub(super) fn seal(task: &mut Task, before: &Task) -> bool {
    if task == before {
        return false;
    }
    change_mark(task, |mark| {
        mark.version = before.swarm().version.saturating_add(1);
    });
    true
}
