//! The operations on the task list.

use std::collections::BTreeSet;

use swarm_os::LockGuard;
use swarm_protocol::{Event, NewTask, Task, TaskId, TaskState, TaskStatus};

use super::change::Edit;
use super::create::{NewTasks, to_task};
use super::files::id_of;
use super::graph::Graph;
use super::notes::unblocked;
use super::redo::{Writes, add_edges};
use super::rules::{self, Holder};
use super::{Actor, StatusChange, TaskChange, TaskList, TaskUpdated};
use crate::file_team::{FileTeam, is_there};
use crate::{Result, StoreError};

impl FileTeam {
    pub(crate) fn create_tasks(&self, new: &[NewTask], by: &Actor) -> Result<Vec<TaskId>> {
        if new.is_empty() {
            return if self.exists() {
                Ok(Vec::new())
            } else {
                Err(self.not_found())
            };
        }
        self.with_list_lock(|held| {
            self.require_current(by)?;
            let next = self.next_numbers(new.len())?;
            let made: NewTasks = (next..=u64::MAX)
                .zip(new)
                .map(|(number, new)| {
                    let id = TaskId::new(number);
                    Ok((id, to_task(id, new, TaskId::new(next), by)?))
                })
                .collect::<Result<_>>()?;
            self.write_new(held, &made, by)
        })
    }

    pub(crate) fn tasks(&self) -> Result<TaskList> {
        let list = self.read_all_tasks()?;
        // Another program may be writing in place, and swarm writes several files together, so this
        // may be a partial write. Read again under the locks.
        let settled = list.broken.is_empty() && !is_there(&self.at.tasks_redo());
        if settled || !is_there(&self.at.tasks_lock()) {
            return Ok(list);
        }
        self.with_list_lock(|held| {
            let broken: Vec<TaskId> = self
                .read_all_tasks()?
                .broken
                .iter()
                .filter_map(|broken| id_of(&broken.path))
                .collect();
            self.with_task_locks(held, &broken, || self.read_all_tasks())
        })
    }

    pub(crate) fn task(&self, id: TaskId) -> Result<Task> {
        // Only this file is read, unless it may be partially written.
        if let Some(Ok(task)) = self.read_task(id)?
            && !is_there(&self.at.tasks_redo())
        {
            return Ok(task);
        }
        let list = self.tasks()?;
        self.require_task(&list, id).cloned()
    }

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

    pub(crate) fn check_update(&self, id: TaskId, change: &TaskChange, by: &Actor) -> Result<()> {
        self.with_list_lock(|_| {
            self.require_current(by)?;
            let before = self.concerned(id, change)?;
            self.edited(&before, id, change, by).map(drop)
        })
    }

    pub(crate) fn claim(&self, id: TaskId, by: &Actor) -> Result<Task> {
        self.with_list_lock(|held| {
            self.require_current(by)?;
            self.claim_held(held, id, by)
        })
    }

    pub(crate) fn claim_next(&self, by: &Actor) -> Result<Option<Task>> {
        self.with_list_lock(|held| {
            self.require_current(by)?;
            for id in candidates(&self.read_all_tasks()?, by) {
                match self.claim_held(held, id, by) {
                    // Another program, which does not take the list lock, claimed it first.
                    Err(
                        StoreError::Taken { .. }
                        | StoreError::Blocked { .. }
                        | StoreError::TaskNotFound { .. }
                        | StoreError::TaskResolved { .. }
                        | StoreError::Damaged { .. },
                    ) => {}
                    claimed => return claimed.map(Some),
                }
            }
            Ok(None)
        })
    }

    pub(crate) fn release(&self, id: TaskId, by: &Actor) -> Result<Task> {
        self.with_list_lock(|held| {
            self.require_current(by)?;
            self.with_task_locks(held, &[id], || {
                let list = self.read_related(&[id])?;
                let before = self.require_task(&list, id)?;
                if before.status == TaskStatus::Completed {
                    return Err(StoreError::TaskResolved { id });
                }
                rules::require_charge(before, by)?;
                let mut task = before.clone();
                rules::give_back(&mut task);
                if rules::seal(&mut task, before) {
                    let writes = Writes::from([(id, Some(task.clone()))]);
                    self.write_tasks(held, &writes)?;
                    self.note_changes(&list, &writes, by.name().as_str());
                }
                Ok(task)
            })
        })
    }

    pub(crate) fn delete_task(&self, id: TaskId, by: &Actor) -> Result<Vec<Task>> {
        self.with_list_lock(|held| {
            self.require_current(by)?;
            let mut touched = neighbours(&self.read_all_tasks()?, id);
            touched.insert(id);
            let touched: Vec<TaskId> = touched.into_iter().collect();
            self.with_task_locks(held, &touched, || {
                let before = self.read_all_tasks()?;
                let task = self.require_task(&before, id)?;
                if task.status == TaskStatus::InProgress {
                    rules::require_charge(task, by)?;
                }
                rules::require_own_checks(task, by)?;
                let mut writes = Writes::from([(id, None)]);
                let mut after = TaskList::default();
                for old in before.tasks.iter().filter(|old| old.id != id) {
                    let mut new = old.clone();
                    new.blocks.retain(|other| *other != id);
                    new.blocked_by.retain(|other| *other != id);
                    if rules::seal(&mut new, old) {
                        writes.insert(new.id, Some(new.clone()));
                    }
                    after.tasks.push(new);
                }
                self.raise_mark(held, self.highest_given()?)?;
                self.write_tasks(held, &writes)?;
                self.note_changes(&before, &writes, by.name().as_str());
                self.record_done([Event::TaskDeleted {
                    task: id,
                    by: by.name().to_string(),
                }]);
                Ok(unblocked(&before, &after))
            })
        })
    }
}

impl FileTeam {
    fn claim_held(&self, held: &LockGuard, id: TaskId, by: &Actor) -> Result<Task> {
        self.with_task_locks(held, &[id], || {
            let list = self.read_related(&[id])?;
            let before = self.require_task(&list, id)?;
            if !rules::is_claimable(&list, before, by)? {
                return Ok(before.clone());
            }
            let mut task = before.clone();
            rules::start(&mut task, &by.agent_id, by.spawn_id, self.now());
            rules::seal(&mut task, before);
            let writes = Writes::from([(id, Some(task.clone()))]);
            self.write_tasks(held, &writes)?;
            self.note_changes(&list, &writes, by.name().as_str());
            Ok(task)
        })
    }
}

/// Returns the tasks that an actor may claim: its own first, then those without an owner, by
/// number.
fn candidates(list: &TaskList, by: &Actor) -> Vec<TaskId> {
    let free =
        |task: &&Task| task.status == TaskStatus::Pending && list.state(task) == TaskState::Pending;
    let held_by = |wanted: Holder| {
        let tasks = list.tasks.iter().filter(free);
        tasks
            .filter(move |task| rules::holder(task, by) == wanted)
            .map(|task| task.id)
    };
    held_by(Holder::Actor)
        .chain(held_by(Holder::Unowned))
        .collect()
}

impl FileTeam {
    /// Returns the part of the list that a change needs: all of it if new edges may form a cycle.
    fn concerned(&self, id: TaskId, change: &TaskChange) -> Result<TaskList> {
        if change.add_blocks.is_empty() && change.add_blocked_by.is_empty() {
            self.read_related(&[id])
        } else {
            self.read_all_tasks()
        }
    }

    /// Returns the list after a change.
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
        held: &LockGuard,
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

/// Returns the names of the changed fields, as in the file.
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

/// Returns the tasks with an edge to this one.
fn neighbours(list: &TaskList, id: TaskId) -> BTreeSet<TaskId> {
    let named = list
        .tasks
        .iter()
        .filter(|task| task.blocks.contains(&id) || task.blocked_by.contains(&id));
    named.map(|task| task.id).collect()
}
