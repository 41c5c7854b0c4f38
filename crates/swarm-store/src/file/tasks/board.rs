//! The operations on the task list.

use std::collections::BTreeSet;

use swarm_os::LockGuard;
use swarm_protocol::{NewTask, Task, TaskId, TeamConfig};

use super::files::id_of;
use crate::file::team::{FileTeam, is_there};
use crate::tasks::{CurrentActor, NewTasks, Plan, Returned, new_tasks, return_tasks};
use crate::{Actor, Result, StoreError, TaskChange, TaskList, TaskUpdated};

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
            let actor = self.current(by)?;
            let made = new_tasks(new, self.next_numbers(new.len())?, by)?;
            self.write_new(held, &made, &actor)
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
        self.tasks()?.require(&self.team, id).cloned()
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
        self.change_list(|held| {
            let actor = self.current(by)?;
            self.with_task_locks(held, &touched, || {
                let list = self.concerned(&actor.config, id, change)?;
                let planner = actor.planner(&list);
                self.put_plan(held, planner.update(id, change)?)
            })
        })
    }

    pub(crate) fn check_update(&self, id: TaskId, change: &TaskChange, by: &Actor) -> Result<()> {
        self.with_list_lock(|_| {
            let actor = self.current(by)?;
            let list = self.concerned(&actor.config, id, change)?;
            let planner = actor.planner(&list);
            planner.update(id, change).map(drop)
        })
    }

    pub(crate) fn claim(&self, id: TaskId, by: &Actor) -> Result<Task> {
        self.change_list(|held| self.claim_held(held, id, &self.current(by)?))
    }

    pub(crate) fn claim_next(&self, by: &Actor) -> Result<Option<Task>> {
        self.change_list(|held| {
            let actor = self.current(by)?;
            let list = self.read_all_tasks()?;
            for id in actor.planner(&list).candidates() {
                match self.claim_held(held, id, &actor) {
                    // Another program, which does not take the list lock, claimed it first.
                    Err(
                        StoreError::Taken { .. }
                        | StoreError::Blocked { .. }
                        | StoreError::TaskNotFound { .. }
                        | StoreError::TaskResolved(_)
                        | StoreError::Damaged { .. },
                    ) => {}
                    claimed => return claimed.map(Some),
                }
            }
            Ok(None)
        })
    }

    pub(crate) fn release(&self, id: TaskId, by: &Actor) -> Result<Task> {
        self.change_list(|held| {
            let actor = self.current(by)?;
            self.with_task_locks(held, &[id], || {
                let list = self.read_related(&actor.config, &[id])?;
                let planner = actor.planner(&list);
                self.put_plan(held, planner.release(id)?)
            })
        })
    }

    pub(crate) fn delete_task(&self, id: TaskId, by: &Actor) -> Result<Vec<Task>> {
        self.change_list(|held| {
            let actor = self.current(by)?;
            let mut touched = neighbours(&self.read_all_tasks()?, id);
            touched.insert(id);
            let touched: Vec<TaskId> = touched.into_iter().collect();
            self.with_task_locks(held, &touched, || {
                let list = self.read_all_tasks()?;
                let plan = actor.planner(&list).delete(id)?;
                self.raise_mark(held, self.highest_given()?)?.sync()?;
                self.put_plan(held, plan)
            })
        })
    }

    pub(crate) fn announce_tasks(&self, ids: &[TaskId], by: &Actor) -> Result<()> {
        self.change_list(|held| {
            let actor = self.current(by)?;
            let list = self.read_related(&actor.config, ids)?;
            let planner = actor.planner(&list);
            self.put_plan(held, planner.announce(ids)?)
        })
    }

    /// Releases the tasks of a departed owner and returns them. All under the list's lock: `first`
    /// receives the tasks before they change, and `then` is called afterwards.
    pub(crate) fn return_tasks(
        &self,
        returned: &Returned,
        first: impl FnOnce(&[TaskId]) -> Result<()>,
        then: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<TaskId>> {
        self.with_list_lock(|held| {
            let ids = return_tasks(&self.read_all_tasks()?, returned).result;
            self.with_task_locks(held, &ids, || {
                let plan = return_tasks(&self.read_all_tasks()?, returned);
                first(&plan.result)?;
                let ids = self.put_plan(held, plan)?;
                then()?;
                Ok(ids)
            })
        })
    }
}

impl FileTeam {
    /// Requires the list's lock, under which members are removed from the roster.
    fn current<'a>(&'a self, by: &'a Actor) -> Result<CurrentActor<'a>> {
        CurrentActor::new(&self.team, self.read_config()?, by, self.now())
    }

    fn write_new(
        &self,
        held: &LockGuard,
        made: &NewTasks,
        actor: &CurrentActor<'_>,
    ) -> Result<Vec<TaskId>> {
        let blockers = made.values().flat_map(|task| &task.blocked_by).copied();
        let known: BTreeSet<TaskId> = blockers.filter(|id| !made.contains_key(id)).collect();
        let known: Vec<TaskId> = known.into_iter().collect();
        let is_free = made.values().all(|task| task.blocked_by.is_empty());
        self.with_task_locks(held, &known, || {
            // Tasks without dependencies are independent of the others.
            let list = if is_free {
                TaskList::default()
            } else {
                self.read_all_tasks()?
            };
            let plan = actor.planner(&list).create(made)?;
            if let Some(last) = made.keys().last() {
                // Flushed with the tasks, which are in the same directory.
                let _pending = self.raise_mark(held, last.number())?;
            }
            self.put_plan(held, plan)
        })
    }

    fn claim_held(&self, held: &LockGuard, id: TaskId, actor: &CurrentActor<'_>) -> Result<Task> {
        self.with_task_locks(held, &[id], || {
            let list = self.read_related(&actor.config, &[id])?;
            self.put_plan(held, actor.planner(&list).claim(id)?)
        })
    }

    fn put_plan<T>(&self, held: &LockGuard, plan: Plan<T>) -> Result<T> {
        self.keep_letters(held, &plan)?;
        if !plan.writes.is_empty() {
            self.write_tasks(held, &plan.writes)?;
            self.record_done(plan.events);
        }
        Ok(plan.result)
    }

    /// Returns the part of the list that a change needs: all of it if new edges may form a cycle.
    fn concerned(&self, config: &TeamConfig, id: TaskId, change: &TaskChange) -> Result<TaskList> {
        if change.add_blocks.is_empty() && change.add_blocked_by.is_empty() {
            self.read_related(config, &[id])
        } else {
            self.read_all_tasks()
        }
    }
}

/// Returns the tasks with an edge to this one.
fn neighbours(list: &TaskList, id: TaskId) -> BTreeSet<TaskId> {
    let named = list
        .tasks
        .iter()
        .filter(|task| task.blocks.contains(&id) || task.blocked_by.contains(&id));
    named.map(|task| task.id).collect()
}
