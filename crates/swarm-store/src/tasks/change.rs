//! What a change makes of one task, and whether the actor may make it. No I/O.

use serde_json::{Map, Value};
use swarm_protocol::{AgentId, MemberName, Task, TaskStatus, UnixMs};

use super::rules::{self, Holder};
use super::{Actor, TaskChange, TaskList};
use crate::{Result, StoreError};

/// The key of a task's metadata that is swarm's own.
pub(super) const OWN_KEY: &str = "swarm";

/// The circumstances of a change.
pub(super) struct Edit<'a> {
    /// The list, with the new edges.
    pub(super) list: &'a TaskList,
    pub(super) by: &'a Actor,
    pub(super) now: UnixMs,
}

impl Edit<'_> {
    /// The task after the change.
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
        if let Some(owner) = &change.owner {
            self.assign(&mut task, owner, change.status)?;
        }
        match change.status {
            Some(TaskStatus::Pending) => self.put_off(&mut task)?,
            Some(TaskStatus::InProgress) => self.start(&mut task)?,
            Some(TaskStatus::Completed) => self.complete(&mut task)?,
            None => {}
        }
        Ok(task)
    }

    /// Gives the task a new owner. Who worked on it before is fenced off by that.
    fn assign(&self, task: &mut Task, to: &MemberName, then: Option<TaskStatus>) -> Result<()> {
        let new = AgentId::new(to.clone(), self.by.agent_id.team.clone());
        if task.is_owned_by(&new) {
            return Ok(());
        }
        let stays_completed = then.unwrap_or(task.status) == TaskStatus::Completed;
        if task.status == TaskStatus::Completed && stays_completed {
            return Err(StoreError::TaskResolved { id: task.id });
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

    /// Back to pending, by whoever has the task or is in charge. The owner stays.
    fn put_off(&self, task: &mut Task) -> Result<()> {
        if task.status != TaskStatus::Pending {
            rules::require_charge(task, self.by)?;
            task.status = TaskStatus::Pending;
            rules::drop_claim(task);
        }
        Ok(())
    }

    /// A claim, and the start of work by an owner who was assigned before.
    fn start(&self, task: &mut Task) -> Result<()> {
        match rules::holder(task, self.by) {
            Holder::Other(owner) if task.status == TaskStatus::InProgress => {
                return Err(StoreError::Taken { id: task.id, owner });
            }
            Holder::Other(_) => return self.start_for_owner(task),
            Holder::Actor | Holder::Nobody if task.status == TaskStatus::InProgress => {
                return Ok(());
            }
            Holder::Actor | Holder::Nobody => {}
        }
        rules::require_ready(self.list, task)?;
        rules::start(task, &self.by.agent_id, self.by.spawn_id, self.now);
        Ok(())
    }

    /// Who is in charge may note that another member works on its task. Which spawn does is not known then.
    fn start_for_owner(&self, task: &mut Task) -> Result<()> {
        rules::require_charge(task, self.by)?;
        rules::require_ready(self.list, task)?;
        task.status = TaskStatus::InProgress;
        Ok(())
    }

    fn complete(&self, task: &mut Task) -> Result<()> {
        if task.status == TaskStatus::Completed {
            return Ok(());
        }
        rules::require_hold(task, self.by)?;
        rules::require_ready(self.list, task)?;
        if rules::holder(task, self.by) == Holder::Nobody && !self.by.person {
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
