//! Owners whose tasks are released because they are gone. No I/O.

use swarm_protocol::{AgentId, SpawnId, Task, TaskStatus};

use super::rules;

/// An owner whose tasks are released.
#[derive(Debug, Clone)]
pub(crate) struct Returned {
    pub(crate) owner: AgentId,
    pub(crate) spawn_id: Option<SpawnId>,
    /// Why its current work counts as a failed attempt; `None` if it does not.
    pub(crate) failed_because: Option<String>,
}

impl Returned {
    /// Returns whether this is an open task of the owner, not claimed by a later spawn of its name.
    pub(super) fn holds(&self, task: &Task) -> bool {
        task.status != TaskStatus::Completed
            && task.is_owned_by(&self.owner)
            && rules::claim_of(task, &self.owner).is_none_or(|spawn| Some(spawn) == self.spawn_id)
    }

    pub(super) fn give_back(&self, before: &Task) -> Task {
        let mut task = before.clone();
        let was_worked_on = before.status == TaskStatus::InProgress;
        rules::give_back(&mut task);
        if let Some(reason) = self.failed_because.as_deref().filter(|_| was_worked_on) {
            rules::count_attempt(&mut task, reason);
        }
        rules::seal(&mut task, before);
        task
    }
}
