//! Creating tasks atomically.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Map;
use swarm_os::LockGuard;
use swarm_protocol::{Event, NewTask, Task, TaskCheck, TaskId, TaskStatus};

use super::graph::Graph;
use super::redo::{Writes, add_edges};
use super::{Actor, TaskList, rules};
use crate::file_team::FileTeam;
use crate::{Result, StoreError};

/// Tasks to be created, by number.
pub(super) type NewTasks = BTreeMap<TaskId, Task>;

impl FileTeam {
    pub(super) fn write_new(
        &self,
        held: &LockGuard,
        made: &NewTasks,
        by: &Actor,
    ) -> Result<Vec<TaskId>> {
        let blockers = made.values().flat_map(|task| &task.blocked_by).copied();
        let known: BTreeSet<TaskId> = blockers.filter(|id| !made.contains_key(id)).collect();
        let known: Vec<TaskId> = known.into_iter().collect();
        let is_free = made.values().all(|task| task.blocked_by.is_empty());
        self.with_task_locks(held, &known, || {
            // Tasks without dependencies are independent of the others.
            let before = if is_free {
                TaskList::default()
            } else {
                self.read_all_tasks()?
            };
            let writes = self.connect_new(&before, made)?;
            if let Some(last) = made.keys().last() {
                self.raise_mark(held, last.number())?;
            }
            self.write_tasks(held, &writes)?;
            let written = writes.values().flatten();
            let new = written.filter(|task| made.contains_key(&task.id));
            self.record_done(new.map(|task| Event::TaskCreated {
                task: task.id,
                subject: task.subject.clone(),
                by: by.name().to_string(),
                record: Some(Box::new(task.clone())),
            }));
            self.note_changes(&before, &writes, by.name().as_str());
            Ok(made.keys().copied().collect())
        })
    }

    /// Returns the new tasks and their blockers, with the edges on both sides.
    fn connect_new(&self, list: &TaskList, made: &NewTasks) -> Result<Writes> {
        let edges = made
            .values()
            .flat_map(|task| task.blocked_by.iter().map(|blocker| (task.id, *blocker)));
        let new = made.iter().map(|(id, task)| (*id, Some(task.clone())));
        let mut writes: Writes = new.collect();
        for task in made.values() {
            for blocker in &task.blocked_by {
                if !writes.contains_key(blocker) {
                    let known = self.require_task(list, *blocker)?.clone();
                    writes.insert(*blocker, Some(known));
                }
                if let Some(Some(other)) = writes.get_mut(blocker) {
                    add_edges(&mut other.blocks, [task.id]);
                }
            }
        }
        Graph::of(&list.tasks)
            .connect_all(&edges.collect::<Vec<_>>())
            .map_err(|path| StoreError::Cycle { path })?;
        for (id, write) in &mut writes {
            if let (Some(task), Some(before)) = (write, list.get(*id)) {
                rules::seal(task, before);
            }
        }
        Ok(writes)
    }
}

/// Returns the initial record of a task; `first` is the number of the first task of the call, `by`
/// the author of its checks.
pub(super) fn to_task(id: TaskId, new: &NewTask, first: TaskId, by: &Actor) -> Result<Task> {
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
