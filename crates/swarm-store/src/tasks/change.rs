//! Applies a change to one task and checks whether the actor may make it. No I/O.

use serde_json::{Map, Value};
use swarm_protocol::{AgentId, CheckRun, MemberName, Task, TaskStatus, UnixMs};

use super::rules::{self, Holder};
use super::{Actor, TaskChange, TaskList};
use crate::{Result, StoreError};

/// The metadata key that is reserved for swarm.
pub(super) const OWN_KEY: &str = "swarm";

/// Context of a change.
pub(super) struct Edit<'a> {
    /// The task list, with the new dependencies.
    pub(super) list: &'a TaskList,
    pub(super) by: &'a Actor,
    pub(super) now: UnixMs,
}

impl Edit<'_> {
    /// Returns the task after the change.
    pub(super) fn apply(&self, change: &TaskChange, mut task: Task) -> Result<Task> {
        if let Some(subject) = &change.subject {
            task.subject.clone_from(subject);
        }
        if let Some(description) = &change.description {
            task.description.clone_from(description);
        }
        if let Some(active_form) = &change.active_form {
            task.active_form = Some(active_form.clone());
        }
        if let Some(metadata) = &change.metadata {
            merge(&mut task, metadata)?;
        }
        if let Some(result) = &change.result {
            rules::require_hold(&task, self.by)?;
            rules::change_mark(&mut task, |mark| mark.result = Some(result.clone()));
        }
        if !change.check_runs.is_empty() {
            rules::require_hold(&task, self.by)?;
            rules::change_mark(&mut task, |mark| {
                for (check, run) in mark.checks.iter_mut().zip(&change.check_runs) {
                    check.last = Some(run.clone());
                }
            });
        }
        if let Some(owner) = &change.owner {
            self.assign(&mut task, owner, change.status)?;
        }
        match change.status {
            Some(TaskStatus::Pending) => self.set_pending(&mut task)?,
            Some(TaskStatus::InProgress) => self.start(&mut task)?,
            Some(TaskStatus::Completed) => self.complete(&mut task, &change.check_runs)?,
            None => {}
        }
        Ok(task)
    }

    /// Assigns the task to a new owner. The previous owner can no longer change it.
    fn assign(&self, task: &mut Task, to: &MemberName, then: Option<TaskStatus>) -> Result<()> {
        let new = AgentId::new(to.clone(), self.by.agent_id.team.clone());
        if task.is_owned_by(&new) {
            return Ok(());
        }
        let stays_completed = then.unwrap_or(task.status) == TaskStatus::Completed;
        if task.status == TaskStatus::Completed && stays_completed {
            return Err(StoreError::TaskResolved(task.id));
        }
        if let Holder::Other(owner) = rules::holder(task, self.by)
            && !self.by.is_in_charge()
        {
            return Err(StoreError::Taken { id: task.id, owner });
        }
        task.owner = Some(to.to_string());
        rules::drop_claim(task);
        if task.status == TaskStatus::InProgress {
            task.status = TaskStatus::Pending;
        }
        Ok(())
    }

    /// Sets the task back to pending, by its holder or the lead. The owner is kept.
    fn set_pending(&self, task: &mut Task) -> Result<()> {
        if task.status != TaskStatus::Pending {
            rules::require_charge(task, self.by)?;
            task.status = TaskStatus::Pending;
            rules::drop_claim(task);
        }
        Ok(())
    }

    /// Claims the task, or starts work as its assigned owner.
    fn start(&self, task: &mut Task) -> Result<()> {
        match rules::holder(task, self.by) {
            Holder::Other(owner) if task.status == TaskStatus::InProgress => {
                return Err(StoreError::Taken { id: task.id, owner });
            }
            Holder::Other(_) => return self.start_for_owner(task),
            Holder::Actor | Holder::Unowned if task.status == TaskStatus::InProgress => {
                return Ok(());
            }
            Holder::Actor | Holder::Unowned => {}
        }
        rules::require_ready(self.list, task)?;
        rules::start(task, &self.by.agent_id, self.by.spawn_id, self.now);
        Ok(())
    }

    /// The lead may record that another member works on its task. The spawn is unknown then.
    fn start_for_owner(&self, task: &mut Task) -> Result<()> {
        rules::require_charge(task, self.by)?;
        rules::require_ready(self.list, task)?;
        task.status = TaskStatus::InProgress;
        Ok(())
    }

    fn complete(&self, task: &mut Task, runs: &[CheckRun]) -> Result<()> {
        if task.status == TaskStatus::Completed {
            return Ok(());
        }
        rules::require_hold(task, self.by)?;
        rules::require_ready(self.list, task)?;
        rules::require_checked(task, runs)?;
        if rules::holder(task, self.by) == Holder::Unowned && !self.by.person {
            task.owner = Some(self.by.name().to_string());
        }
        task.status = TaskStatus::Completed;
        Ok(())
    }
}

fn merge(task: &mut Task, metadata: &Map<String, Value>) -> Result<()> {
    if metadata.contains_key(OWN_KEY) {
        return Err(StoreError::ReservedKey {
            id: task.id,
            key: OWN_KEY,
        });
    }
    let mut merged = task.metadata.clone().unwrap_or_default();
    for (key, value) in metadata {
        if value.is_null() {
            merged.shift_remove(key);
        } else {
            merged.insert(key.clone(), value.clone());
        }
    }
    if !merged.is_empty() || task.metadata.is_some() {
        task.metadata = Some(merged);
    }
    Ok(())
}
