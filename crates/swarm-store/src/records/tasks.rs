//! The task list of a team in records.

use swarm_protocol::{Event, Member, NewTask, Task, TaskId};

use super::team::RecordsTeam;
use super::values::{self, TasksValue};
use crate::tasks::{CurrentActor, Plan, Planner, Returned, new_tasks, return_tasks};
use crate::{Actor, Result, StoreError, TaskChange, TaskList, TaskUpdated, Undelivered};

impl RecordsTeam {
    pub(super) fn create_tasks(&self, new: &[NewTask], by: &Actor) -> Result<Vec<TaskId>> {
        if new.is_empty() {
            return self.require().map(|()| Vec::new());
        }
        self.change_tasks(by, |planner, tasks| {
            // The number of tasks in memory is far below the limit.
            let first = tasks.highest.saturating_add(1);
            planner.create(&new_tasks(new, first, by)?)
        })
    }

    pub(super) fn tasks(&self) -> Result<TaskList> {
        self.require()?;
        Ok(self.read(&values::tasks())?.list)
    }

    pub(super) fn task(&self, id: TaskId) -> Result<Task> {
        let tasks = self.tasks()?;
        tasks.require(&self.team, id).cloned()
    }

    pub(super) fn update_task(
        &self,
        id: TaskId,
        change: &TaskChange,
        by: &Actor,
    ) -> Result<TaskUpdated> {
        self.change_tasks(by, |planner, _| planner.update(id, change))
    }

    pub(super) fn check_update(&self, id: TaskId, change: &TaskChange, by: &Actor) -> Result<()> {
        let tasks = self.read(&values::tasks())?;
        let actor = self.current(&tasks, by)?;
        let planner = actor.planner(&tasks.list);
        planner.update(id, change).map(drop)
    }

    pub(super) fn claim(&self, id: TaskId, by: &Actor) -> Result<Task> {
        self.change_tasks(by, |planner, _| planner.claim(id))
    }

    pub(super) fn claim_next(&self, by: &Actor) -> Result<Option<Task>> {
        self.change_tasks(by, |planner, _| {
            let Some(id) = planner.candidates().into_iter().next() else {
                return Ok(Plan::nothing(None));
            };
            Ok(planner.claim(id)?.map(Some))
        })
    }

    pub(super) fn release(&self, id: TaskId, by: &Actor) -> Result<Task> {
        self.change_tasks(by, |planner, _| planner.release(id))
    }

    pub(super) fn delete_task(&self, id: TaskId, by: &Actor) -> Result<Vec<Task>> {
        self.change_tasks(by, |planner, _| planner.delete(id))
    }

    pub(super) fn announce_tasks(&self, ids: &[TaskId], by: &Actor) -> Result<()> {
        self.change_tasks(by, |planner, _| planner.announce(ids))
    }

    #[expect(clippy::unused_self, reason = "other kinds may have some")]
    pub(super) fn undelivered(&self) -> Vec<Undelivered> {
        Vec::new()
    }
}

impl RecordsTeam {
    /// Ends a spawn: it can change no task any more, and its open tasks are released. `event` is
    /// recorded first, by the first call for this spawn. Returns all tasks released from it, by this
    /// call or an earlier one.
    pub(super) fn end_spawn(
        &self,
        returned: &Returned,
        event: impl Fn(&[TaskId]) -> Option<Event>,
    ) -> Result<Vec<TaskId>> {
        self.change(&values::tasks(), |tasks, events| {
            let plan = return_tasks(&tasks.list, returned);
            let ended = returned.spawn_id.and_then(|spawn| tasks.ended.get(&spawn));
            if ended.is_none() {
                events.extend(event(&plan.result));
            }
            let mut released = ended.cloned().unwrap_or_default();
            released.extend(plan.result);
            if let Some(spawn) = returned.spawn_id {
                tasks.ended.insert(spawn, released.clone());
            }
            tasks.apply(plan.writes);
            events.extend(plan.events);
            Ok(released)
        })
    }

    /// Releases the tasks of a member that is removed, and returns them. Tasks that were released
    /// when it died are not among them.
    pub(super) fn release_tasks_of(&self, member: &Member, has_died: bool) -> Result<Vec<TaskId>> {
        let returned = Returned {
            owner: member.id_in(&self.team),
            spawn_id: member.spawn_id(),
            failed_because: None,
        };
        let tasks = self.read(&values::tasks())?;
        let before = member.spawn_id().filter(|_| has_died);
        let before = before.and_then(|spawn| tasks.ended.get(&spawn));
        let before = before.map_or(0, Vec::len);
        let mut released = self.end_spawn(&returned, |_| None)?;
        Ok(released.split_off(before))
    }

    /// The roster is read after the list: a spawn is ended in the list before it leaves the roster.
    fn current<'a>(&'a self, tasks: &TasksValue, by: &'a Actor) -> Result<CurrentActor<'a>> {
        if let Some(spawn_id) = by.spawn_id.filter(|spawn| tasks.ended.contains_key(spawn)) {
            return Err(StoreError::SpawnGone {
                team: self.team.clone(),
                spawn_id,
            });
        }
        CurrentActor::new(&self.team, self.config()?, by, self.now())
    }

    fn change_tasks<R>(
        &self,
        by: &Actor,
        plan: impl Fn(Planner<'_>, &TasksValue) -> Result<Plan<R>>,
    ) -> Result<R> {
        self.change(&values::tasks(), |tasks, events| {
            let actor = self.current(tasks, by)?;
            let plan = plan(actor.planner(&tasks.list), tasks)?;
            tasks.apply(plan.writes);
            events.extend(plan.events);
            plan.letters
                .into_iter()
                .for_each(|letter| events.send(letter));
            Ok(plan.result)
        })
    }
}
