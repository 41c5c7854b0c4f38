//! The task list of a team in records.

use std::collections::BTreeSet;

use swarm_protocol::{Event, Member, NewTask, Task, TaskId, TeamConfig};

use super::key::Key;
use super::record::Outbox;
use super::task_pages::{Pages, Unread, key};
use super::team::RecordsTeam;
use super::values::{self, TasksValue};
use crate::tasks::{CurrentActor, Plan, Planner, Returned, new_tasks, return_tasks};
use crate::{
    Actor, Result, StoppedSpawn, StoreError, TaskChange, TaskList, TaskUpdated, Undelivered,
};

impl RecordsTeam {
    pub(super) fn create_tasks(&self, new: &[NewTask], by: &Actor) -> Result<Vec<TaskId>> {
        if new.is_empty() {
            return self.require().map(|()| Vec::new());
        }
        let blockers = new.iter().flat_map(|task| &task.blocked_by);
        let blockers: Vec<TaskId> = blockers.copied().collect();
        // No older task waits for a new one, so only these can be part of the change.
        let which = |pages: &Pages<'_>| pages.related(&blockers);
        self.change_tasks(by, which, |planner, tasks| {
            // The number of tasks in memory is far below the limit.
            let first = tasks.highest.saturating_add(1);
            planner.create(&new_tasks(new, first, by)?)
        })
    }

    pub(super) fn tasks(&self) -> Result<TaskList> {
        self.read_tasks(|_, pages| pages.all())
    }

    pub(super) fn task(&self, id: TaskId) -> Result<Task> {
        let list = self.read_tasks(|_, pages| pages.related(&[id]))?;
        list.require(&self.team, id).cloned()
    }

    pub(super) fn update_task(
        &self,
        id: TaskId,
        change: &TaskChange,
        by: &Actor,
    ) -> Result<TaskUpdated> {
        let which = |pages: &Pages<'_>| concerned(pages, id, change);
        self.change_tasks(by, which, |planner, _| planner.update(id, change))
    }

    pub(super) fn check_update(&self, id: TaskId, change: &TaskChange, by: &Actor) -> Result<()> {
        self.read_tasks(|tasks, pages| {
            let list = concerned(pages, id, change)?;
            let actor = self.current(tasks, by, self.config()?)?;
            Ok(actor.planner(&list).update(id, change).map(drop)?)
        })
    }

    pub(super) fn claim(&self, id: TaskId, by: &Actor) -> Result<Task> {
        let which = |pages: &Pages<'_>| pages.related(&[id]);
        self.change_tasks(by, which, |planner, _| planner.claim(id))
    }

    pub(super) fn claim_next(&self, by: &Actor) -> Result<Option<Task>> {
        self.change_tasks(by, whole, |planner, _| {
            let Some(id) = planner.candidates().into_iter().next() else {
                return Ok(Plan::nothing(None));
            };
            Ok(planner.claim(id)?.map(Some))
        })
    }

    pub(super) fn release(&self, id: TaskId, by: &Actor) -> Result<Task> {
        let which = |pages: &Pages<'_>| pages.related(&[id]);
        self.change_tasks(by, which, |planner, _| planner.release(id))
    }

    pub(super) fn delete_task(&self, id: TaskId, by: &Actor) -> Result<Vec<Task>> {
        self.change_tasks(by, whole, |planner, _| planner.delete(id))
    }

    pub(super) fn announce_tasks(&self, ids: &[TaskId], by: &Actor) -> Result<()> {
        let which = |pages: &Pages<'_>| pages.related(ids);
        self.change_tasks(by, which, |planner, _| planner.announce(ids))
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
        self.change_pages(|tasks, pages, events| {
            let plan = return_tasks(&pages.all()?, returned);
            // What is reported must be done: pages may be refused.
            let (mut list, replaced) = pages.write(plan.writes)?;
            let ended = returned.spawn_id.and_then(|spawn| tasks.ended.get(&spawn));
            if ended.is_none() {
                events.extend(event(&plan.result));
            }
            let mut released = ended.cloned().unwrap_or_default();
            released.extend(plan.result);
            events.extend(plan.events);
            if let Some(spawn) = returned.spawn_id {
                list.ended.insert(spawn, released.clone());
            }
            Ok((released, list, replaced))
        })
    }

    /// Releases the tasks of a member that is removed, and returns them. Tasks that were released
    /// when it died are not among them.
    pub(super) fn release_tasks_of(
        &self,
        member: &Member,
        has_died: bool,
        stopped: Option<&StoppedSpawn>,
    ) -> Result<Vec<TaskId>> {
        let returned = Returned {
            owner: member.id_in(&self.team),
            spawn_id: member.spawn_id(),
            failed_because: None,
        };
        let before = match member.spawn_id().filter(|_| has_died) {
            Some(spawn) => {
                let tasks = self.read(&values::tasks())?;
                tasks.ended.get(&spawn).map_or(0, Vec::len)
            }
            None => 0,
        };
        let event = |_: &[TaskId]| stopped.map(|stopped| stopped.event(&member.name));
        let mut released = self.end_spawn(&returned, event)?;
        Ok(released.split_off(before))
    }

    /// The roster may be older than the list: a spawn is ended in the list before it leaves the roster.
    fn current<'a>(
        &'a self,
        tasks: &TasksValue,
        by: &'a Actor,
        config: TeamConfig,
    ) -> Result<CurrentActor<'a>> {
        if let Some(spawn_id) = by.spawn_id.filter(|spawn| tasks.ended.contains_key(spawn)) {
            return Err(StoreError::SpawnGone {
                team: self.team.clone(),
                spawn_id,
            });
        }
        CurrentActor::new(&self.team, config, by, self.now())
    }

    /// Reads tasks, again if the list changes meanwhile.
    fn read_tasks<R>(
        &self,
        read: impl Fn(&TasksValue, &Pages<'_>) -> Result<R, Unread>,
    ) -> Result<R> {
        let mut missing = None;
        loop {
            let (revision, found) = self.fetch(&values::tasks())?;
            let tasks = found.value;
            // Only a team has a list.
            if revision == 0 {
                self.require()?;
            }
            match read(&tasks, &Pages::new(self, &tasks)) {
                Ok(read) => return Ok(read),
                Err(Unread::Replaced(page)) => look_again(&mut missing, page)?,
                Err(Unread::Failed(error)) => return Err(error),
            }
        }
    }

    /// Plans a change of a part of the list and makes it.
    fn change_tasks<R>(
        &self,
        by: &Actor,
        which: impl Fn(&Pages<'_>) -> Result<TaskList, Unread>,
        plan: impl Fn(Planner<'_>, &TasksValue) -> Result<Plan<R>>,
    ) -> Result<R> {
        self.change_pages(|tasks, pages, events| {
            let list = which(pages)?;
            let planned = |config| {
                let actor = self.current(tasks, by, config)?;
                plan(actor.planner(&list), tasks)
            };
            let known = self.known_config().and_then(planned);
            // The roster may have changed unheard.
            let plan = known.or_else(|_| planned(self.config()?))?;
            // Those that look for work and find none would keep others from writing.
            events.changes_nothing = plan.is_nothing();
            // What is reported must be done: pages may be refused.
            let (list, replaced) = pages.write(plan.writes)?;
            events.extend(plan.events);
            for letter in plan.letters {
                events.send(letter);
            }
            Ok((plan.result, list, replaced))
        })
    }

    /// Changes the record of the list. `edit` stores pages, and returns the list with them and the
    /// keys of those that they replace. It is repeated if a page is replaced while it reads.
    fn change_pages<R>(
        &self,
        edit: impl Fn(&TasksValue, &Pages<'_>, &mut Outbox) -> Result<(R, TasksValue, Vec<Key>), Unread>,
    ) -> Result<R> {
        // Pages of attempts that were not the last one.
        let mut unused: Vec<Key> = Vec::new();
        let mut stored: Vec<Key> = Vec::new();
        let mut missing = None;
        let done = loop {
            let changed = self.change(&values::tasks(), |tasks, events| {
                unused.append(&mut stored);
                // A server that restarted may refuse the repetition of a write that was done.
                unused.retain(|page| !tasks.keys().contains(page));
                let edited = edit(tasks, &Pages::new(self, tasks), events);
                match edited {
                    Ok((result, list, replaced)) => {
                        let named = tasks.keys();
                        stored = list
                            .keys()
                            .into_iter()
                            .filter(|page| !named.contains(page))
                            .collect();
                        *tasks = list;
                        Ok(Ok((result, replaced)))
                    }
                    Err(Unread::Replaced(page)) => {
                        events.changes_nothing = true;
                        Ok(Err(page))
                    }
                    Err(Unread::Failed(error)) => Err(error),
                }
            });
            match changed {
                Ok(Ok((result, replaced))) => {
                    unused.extend(replaced);
                    break Ok(result);
                }
                Ok(Err(page)) => {
                    if let Err(error) = look_again(&mut missing, page) {
                        break Err(error);
                    }
                }
                Err(error) => break Err(error),
            }
        };
        self.remove_pages(&unused);
        done
    }
}

fn whole(pages: &Pages<'_>) -> Result<TaskList, Unread> {
    pages.all()
}

/// Returns the part of the list that an update concerns. New edges may close a cycle anywhere.
fn concerned(pages: &Pages<'_>, id: TaskId, change: &TaskChange) -> Result<TaskList, Unread> {
    if change.add_blocks.is_empty() && change.add_blocked_by.is_empty() {
        pages.related(&[id])
    } else {
        whole(pages)
    }
}

/// Permits reading the list again after a page that it names was missing: a page is removed after the
/// list names another one. If the same one is missing again, it is lost.
fn look_again(missing: &mut Option<Key>, page: Key) -> Result<()> {
    if missing.as_ref() == Some(&page) {
        return Err(StoreError::Damaged {
            path: page.as_str().into(),
            reason: "this page of the task list is missing".to_owned(),
        });
    }
    *missing = Some(page);
    Ok(())
}

impl TasksValue {
    /// Returns the keys of its pages.
    fn keys(&self) -> BTreeSet<Key> {
        let pages = self.pages.iter();
        pages.map(|(number, id)| key(*number, *id)).collect()
    }
}
