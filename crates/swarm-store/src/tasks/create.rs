//! New tasks. No I/O.

use std::collections::BTreeMap;

use serde_json::Map;
use swarm_protocol::{NewTask, Task, TaskCheck, TaskId, TaskStatus};

use super::graph::add_edges;
use super::{Actor, rules};
use crate::{Result, StoreError};

/// Tasks to be created, by number.
pub(crate) type NewTasks = BTreeMap<TaskId, Task>;

/// Returns the initial records of tasks, numbered from `first`.
pub(crate) fn new_tasks(new: &[NewTask], first: u64, by: &Actor) -> Result<NewTasks> {
    (first..=u64::MAX)
        .zip(new)
        .map(|(number, new)| {
            let id = TaskId::new(number);
            Ok((id, to_task(id, new, TaskId::new(first), by)?))
        })
        .collect()
}

/// Returns the initial record of a task; `first` is the number of the first task of the call, `by`
/// the author of its checks.
fn to_task(id: TaskId, new: &NewTask, first: TaskId, by: &Actor) -> Result<Task> {
    if let Some(metadata) = &new.metadata
        && metadata.contains_key(super::change::OWN_KEY)
    {
        return Err(StoreError::ReservedKey {
            id,
            key: super::change::OWN_KEY,
        });
    }
    let mut blocked_by = Vec::new();
    add_edges(&mut blocked_by, new.blocked_by.iter().copied());
    let within = new.after.iter().map(|place| {
        let place = u64::try_from(*place).unwrap_or(u64::MAX);
        TaskId::new(first.number().saturating_add(place))
    });
    add_edges(&mut blocked_by, within);
    let mut task = Task {
        id,
        subject: new.subject.clone(),
        description: new.description.clone(),
        active_form: new.active_form.clone(),
        owner: new.owner.as_ref().map(ToString::to_string),
        status: TaskStatus::Pending,
        blocks: Vec::new(),
        blocked_by,
        metadata: new.metadata.clone(),
        rest: Map::new(),
    };
    if !new.checks.is_empty() {
        let checks = new.checks.iter().map(|command| TaskCheck {
            command: command.clone(),
            by: by.author().to_owned(),
            last: None,
        });
        rules::change_mark(&mut task, |mark| mark.checks = checks.collect());
    }
    Ok(task)
}
