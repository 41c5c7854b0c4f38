//! Who may do what with a task, and what it then looks like. No I/O.

use swarm_protocol::{AgentId, FailedTask, SpawnId, SwarmTask, Task, TaskStatus, UnixMs};

use super::{Actor, TaskList};
use crate::{Result, StoreError};

/// After how many deaths of its owners a task is given up.
const MAX_ATTEMPTS: u32 = 3;

/// Who has a task, as an actor sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Holder {
    Nobody,
    Actor,
    /// Somebody else, in words.
    Other(String),
}

/// Who has the task. A claim of another spawn of the same name is somebody else's.
pub(super) fn holder(task: &Task, actor: &Actor) -> Holder {
    let Some(owner) = task.owner.as_deref().filter(|owner| !owner.is_empty()) else {
        return Holder::Nobody;
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

/// The spawn that claimed the task in the name of its owner. A claim of a former owner, whom another program
/// replaced without knowing of claims, does not count.
pub(super) fn claim_of(task: &Task, owner: &AgentId) -> Option<SpawnId> {
    let swarm = task.swarm();
    swarm
        .spawn_id
        .filter(|_| swarm.claimed_by.as_ref() == Some(owner))
}

/// Lets only the holder, anybody where there is none, or a person who insists.
pub(super) fn require_hold(task: &Task, actor: &Actor) -> Result<()> {
    match holder(task, actor) {
        Holder::Other(owner) if !(actor.person && actor.force) => {
            Err(StoreError::NotYours { id: task.id, owner })
        }
        _ => Ok(()),
    }
}

/// Lets the holder, anybody where there is none, and whoever is in charge.
pub(super) fn require_charge(task: &Task, actor: &Actor) -> Result<()> {
    match holder(task, actor) {
        Holder::Other(owner) if !actor.is_in_charge() => {
            Err(StoreError::NotYours { id: task.id, owner })
        }
        _ => Ok(()),
    }
}

/// Lets nobody work on a task that waits for others or was given up.
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

/// Whether the task can be claimed; `false` when the actor works on it already.
pub(super) fn is_claimable(list: &TaskList, task: &Task, actor: &Actor) -> Result<bool> {
    let id = task.id;
    match (task.status, holder(task, actor)) {
        (TaskStatus::Completed, _) => Err(StoreError::TaskResolved { id }),
        (_, Holder::Other(owner)) => Err(StoreError::Taken { id, owner }),
        (TaskStatus::InProgress, Holder::Actor) => Ok(false),
        (TaskStatus::InProgress, Holder::Nobody) => Err(StoreError::Taken {
            id,
            owner: "an unnamed owner".to_owned(),
        }),
        (TaskStatus::Pending, _) => require_ready(list, task).map(|()| true),
    }
}

/// Makes the actor the one who works on the task.
pub(super) fn start(task: &mut Task, agent: &AgentId, spawn_id: Option<SpawnId>, now: UnixMs) {
    task.owner = Some(agent.name.to_string());
    task.status = TaskStatus::InProgress;
    change_mark(task, |mark| {
        mark.claimed_by = Some(agent.clone());
        mark.spawn_id = spawn_id;
        mark.claimed_at = Some(now);
    });
}

/// Gives the task back. What failed may be tried afresh.
pub(super) fn give_back(task: &mut Task) {
    task.owner = None;
    task.status = TaskStatus::Pending;
    drop_claim(task);
    if task.swarm().failed.is_some() {
        change_mark(task, |mark| {
            mark.failed = None;
            mark.note = None;
            mark.attempt = 0;
        });
    }
}

/// Counts an attempt that ended with its owner's death.
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

/// Forgets who claimed the task.
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

/// Changes our own part of the task.
pub(super) fn change_mark(task: &mut Task, change: impl FnOnce(&mut SwarmTask)) {
    let mut mark = task.swarm();
    change(&mut mark);
    task.set_swarm(&mark);
}

/// Raises the version of a task that has changed; tells whether it has.
pub(super) fn seal(task: &mut Task, before: &Task) -> bool {
    if task == before {
        return false;
    }
    change_mark(task, |mark| {
        mark.version = before.swarm().version.saturating_add(1);
    });
    true
}
