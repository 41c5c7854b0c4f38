//! Changing a task.

use std::collections::BTreeSet;

use swarm_fs::Held;
use swarm_protocol::{Task, TaskId, TaskStatus};

use super::change::Edit;
use super::graph::Graph;
use super::notes::unblocked;
use super::redo::{Writes, add_edges};
use super::{Actor, StatusChange, TaskChange, TaskList, TaskUpdated, rules};
use crate::team_files::TeamFiles;
use crate::{Result, StoreError};

impl TeamFiles<'_> {
    pub(crate) fn update_task(
        &self,
        id: TaskId,
        change: &TaskChange,
        by: &Actor,
    ) -> Result<TaskUpdated> {
        let edges = change.add_blocks.iter().chain(&change.add_blocked_by);
        let touched: BTreeSet<TaskId> = edges.copied().chain([id]).collect();
        let touched: Vec<TaskId> = touched.into_iter().collect();
        self.with_list_lock(|held| {
            self.require_current(by)?;
            self.with_task_locks(held, &touched, || self.update_held(held, id, change, by))
        })
    }

    /// Whether the change could be made now; nothing is written.
    pub(crate) fn check_update(&self, id: TaskId, change: &TaskChange, by: &Actor) -> Result<()> {
        self.with_list_lock(|_| {
            self.require_current(by)?;
            let before = self.concerned(id, change)?;
            self.edited(&before, id, change, by).map(drop)
        })
    }

    /// What a change has to know of the list: all of it where a circle may come of new edges.
    fn concerned(&self, id: TaskId, change: &TaskChange) -> Result<TaskList> {
        if change.add_blocks.is_empty() && change.add_blocked_by.is_empty() {
            self.look_around(&[id])
        } else {
            self.look_at_tasks()
        }
    }

    /// The list after a change.
    fn edited(
        &self,
        before: &TaskList,
        id: TaskId,
        change: &TaskChange,
        by: &Actor,
    ) -> Result<TaskList> {
        let mut after = before.clone();
        self.require_task(before, id)?;
        self.connect(&mut after, id, change)?;
        let task = Edit {
            list: &after,
            by,
            now: self.now(),
        }
        .apply(change, self.require_task(&after, id)?.clone())?;
        replace(&mut after, task);
        Ok(after)
    }

    fn update_held(
        &self,
        held: &Held,
        id: TaskId,
        change: &TaskChange,
        by: &Actor,
    ) -> Result<TaskUpdated> {
        let before = self.concerned(id, change)?;
        let old = self.require_task(&before, id)?;
        let mut after = self.edited(&before, id, change, by)?;
        let writes = sealed(&before, &mut after);
        let task = self.require_task(&after, id)?.clone();
        self.write_tasks(held, &writes)?;
        self.note_changes(&before, &writes, by.name().as_str());
        let (from, to) = (before.state(old), after.state(&task));
        Ok(TaskUpdated {
            status_change: (from != to).then_some(StatusChange { from, to }),
            changed_fields: changed_fields(old, &task),
            unblocked: if task.status == TaskStatus::Completed {
                unblocked(&before, &after)
            } else {
                Vec::new()
            },
            task,
        })
    }

    /// Adds the edges on both sides.
    fn connect(&self, list: &mut TaskList, id: TaskId, change: &TaskChange) -> Result<()> {
        let waiting = change.add_blocks.iter().map(|other| (*other, id));
        let awaited = change.add_blocked_by.iter().map(|other| (id, *other));
        let mut graph = Graph::of(&list.tasks);
        for (task, blocker) in waiting.chain(awaited) {
            let mut task = self.require_task(list, task)?.clone();
            let mut blocker = self.require_task(list, blocker)?.clone();
            graph
                .connect(task.id, blocker.id)
                .map_err(|path| StoreError::Cycle { path })?;
            add_edges(&mut task.blocked_by, [blocker.id]);
            add_edges(&mut blocker.blocks, [task.id]);
            replace(list, task);
            replace(list, blocker);
        }
        Ok(())
    }
}

fn replace(list: &mut TaskList, task: Task) {
    if let Some(place) = list.tasks.iter_mut().find(|place| place.id == task.id) {
        *place = task;
    }
}

/// Raises the version of every task that changed, and returns those tasks.
fn sealed(before: &TaskList, after: &mut TaskList) -> Writes {
    let mut writes = Writes::new();
    for task in &mut after.tasks {
        let changed = before
            .get(task.id)
            .is_some_and(|old| rules::seal(task, old));
        if changed {
            writes.insert(task.id, Some(task.clone()));
        }
    }
    writes
}

/// Names of the fields that differ, as they stand in the file.
fn changed_fields(old: &Task, new: &Task) -> Vec<&'static str> {
    let free = |task: &Task| {
        let mut metadata = task.metadata.clone().unwrap_or_default();
        metadata.shift_remove(super::change::OWN_KEY);
        metadata
    };
    let fields = [
        ("subject", old.subject != new.subject),
        ("description", old.description != new.description),
        ("activeForm", old.active_form != new.active_form),
        ("owner", old.owner != new.owner),
        ("status", old.status != new.status),
        ("blocks", old.blocks != new.blocks),
        ("blockedBy", old.blocked_by != new.blocked_by),
        ("metadata", free(old) != free(new)),
        ("result", old.swarm().result != new.swarm().result),
    ];
    fields
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect()
}
