//! Changes of the task list as functions of the list. No I/O: a store reads the list, plans, and
//! writes the plan if the list has not changed meanwhile.

use swarm_protocol::{Event, Task, TaskId, TaskState, TaskStatus};

use super::change::{Edit, OWN_KEY};
use super::create::NewTasks;
use super::graph::{Graph, add_edges};
use super::letters::Letter;
use super::notes::{changes, unblocked};
use super::release::Returned;
use super::rules::{self, Holder};
use super::{CurrentActor, StatusChange, TaskChange, TaskList, TaskUpdated, Writes};
use crate::{Result, StoreError};

/// A change that the rules allow.
#[derive(Debug)]
pub(crate) struct Plan<T> {
    /// What to write; empty if nothing changes.
    pub(crate) writes: Writes,
    /// Journal events, recorded after the write.
    pub(crate) events: Vec<Event>,
    /// Messages, sent after the write.
    pub(crate) letters: Vec<Letter>,
    /// What the operation returns.
    pub(crate) result: T,
}

impl<T> Plan<T> {
    pub(crate) fn is_nothing(&self) -> bool {
        self.writes.is_empty() && self.events.is_empty() && self.letters.is_empty()
    }

    /// Changes nothing.
    pub(crate) fn nothing(result: T) -> Self {
        Self {
            writes: Writes::new(),
            events: Vec::new(),
            letters: Vec::new(),
            result,
        }
    }

    pub(crate) fn map<U>(self, to: impl FnOnce(T) -> U) -> Plan<U> {
        Plan {
            writes: self.writes,
            events: self.events,
            letters: self.letters,
            result: to(self.result),
        }
    }
}

/// Plans changes of a list by an actor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planner<'a> {
    pub(crate) actor: &'a CurrentActor<'a>,
    /// The list, or the part of it that the change concerns.
    pub(crate) list: &'a TaskList,
}

impl<'a> CurrentActor<'a> {
    pub(crate) fn planner(&'a self, list: &'a TaskList) -> Planner<'a> {
        Planner { actor: self, list }
    }
}

impl Planner<'_> {
    /// Adds new tasks, with the edges on both sides.
    pub(crate) fn create(&self, made: &NewTasks) -> Result<Plan<Vec<TaskId>>> {
        let edges = made
            .values()
            .flat_map(|task| task.blocked_by.iter().map(|blocker| (task.id, *blocker)));
        let new = made.iter().map(|(id, task)| (*id, Some(task.clone())));
        let mut writes: Writes = new.collect();
        for task in made.values() {
            for blocker in &task.blocked_by {
                if !writes.contains_key(blocker) {
                    let known = self.require(*blocker)?.clone();
                    writes.insert(*blocker, Some(known));
                }
                if let Some(Some(other)) = writes.get_mut(blocker) {
                    add_edges(&mut other.blocks, [task.id]);
                }
            }
        }
        Graph::of(&self.list.tasks)
            .connect_all(&edges.collect::<Vec<_>>())
            .map_err(StoreError::Cycle)?;
        for (id, write) in &mut writes {
            if let (Some(task), Some(before)) = (write, self.list.get(*id)) {
                rules::seal(task, before);
            }
        }
        let new = writes.values().flatten();
        let new = new.filter(|task| made.contains_key(&task.id));
        let created = new.map(|task| Event::TaskCreated {
            task: task.id,
            subject: task.subject.clone(),
            by: self.actor.by.name().to_string(),
            record: Some(Box::new(task.clone())),
        });
        let events = created.chain(self.changes(&writes)).collect();
        Ok(Plan {
            writes,
            events,
            letters: Vec::new(),
            result: made.keys().copied().collect(),
        })
    }

    /// Changes a task.
    pub(crate) fn update(&self, id: TaskId, change: &TaskChange) -> Result<Plan<TaskUpdated>> {
        let old = self.require(id)?;
        let mut after = self.list.clone();
        self.connect(&mut after, id, change)?;
        let edit = Edit {
            list: &after,
            by: self.actor.by,
            now: self.actor.now,
        };
        let task = edit.apply(change, after.require(self.actor.team, id)?.clone())?;
        replace(&mut after, task);
        let writes = sealed(self.list, &mut after);
        let task = after.require(self.actor.team, id)?.clone();
        let (from, to) = (self.list.state(old), after.state(&task));
        let result = TaskUpdated {
            status_change: (from != to).then_some(StatusChange { from, to }),
            changed_fields: changed_fields(old, &task),
            unblocked: if task.status == TaskStatus::Completed {
                unblocked(self.list, &after)
            } else {
                Vec::new()
            },
            task,
        };
        let is_assigned = result.changed_fields.contains(&"owner");
        let assignment = is_assigned.then(|| self.actor.assignment(&after, &result.task));
        let mut letters: Vec<Letter> = assignment.flatten().into_iter().collect();
        letters.extend(self.actor.unblocked(&after, &result.unblocked));
        Ok(Plan {
            letters,
            ..self.changed(writes, result)
        })
    }

    /// Notifies the owners of tasks.
    pub(crate) fn announce(&self, ids: &[TaskId]) -> Result<Plan<()>> {
        let mut plan = Plan::nothing(());
        for id in ids {
            let task = self.require(*id)?;
            plan.letters.extend(self.actor.assignment(self.list, task));
        }
        Ok(plan)
    }

    /// Claims a task. Writes nothing if the actor already works on it.
    pub(crate) fn claim(&self, id: TaskId) -> Result<Plan<Task>> {
        let before = self.require(id)?;
        if !rules::is_claimable(self.list, before, self.actor.by)? {
            return Ok(self.changed(Writes::new(), before.clone()));
        }
        let mut task = before.clone();
        let by = self.actor.by;
        rules::start(&mut task, &by.agent_id, by.spawn_id, self.actor.now);
        let mut plan = self.replaced(before, task);
        // A member of another program that runs this command itself needs no message.
        let member = self.actor.config.member(by.name());
        let is_ours = member.is_some_and(|member| member.swarm.is_some());
        if is_ours && !before.is_owned_by(&by.agent_id) {
            plan.letters
                .extend(self.actor.assignment(self.list, &plan.result));
        }
        Ok(plan)
    }

    /// Returns the tasks that the actor may claim: its own first, then those without an owner, by
    /// number.
    pub(crate) fn candidates(&self) -> Vec<TaskId> {
        let is_free = |task: &&Task| {
            task.status == TaskStatus::Pending && self.list.state(task) == TaskState::Pending
        };
        let held_by = |wanted: Holder| {
            let tasks = self.list.tasks.iter().filter(is_free);
            tasks
                .filter(move |task| rules::holder(task, self.actor.by) == wanted)
                .map(|task| task.id)
        };
        held_by(Holder::Actor)
            .chain(held_by(Holder::Unowned))
            .collect()
    }

    /// Releases a task.
    pub(crate) fn release(&self, id: TaskId) -> Result<Plan<Task>> {
        let before = self.require(id)?;
        if before.status == TaskStatus::Completed {
            return Err(StoreError::TaskResolved(id));
        }
        rules::require_charge(before, self.actor.by)?;
        let mut task = before.clone();
        rules::give_back(&mut task);
        let mut plan = self.replaced(before, task);
        if self.list.state(&plan.result) == TaskState::Pending {
            let released = std::slice::from_ref(&plan.result);
            plan.letters = self.actor.unblocked(self.list, released);
        }
        Ok(plan)
    }

    /// Deletes a task and every edge to it. The list must be complete.
    pub(crate) fn delete(&self, id: TaskId) -> Result<Plan<Vec<Task>>> {
        let task = self.require(id)?;
        if task.status == TaskStatus::InProgress {
            rules::require_charge(task, self.actor.by)?;
        }
        rules::require_own_checks(task, self.actor.by)?;
        let mut writes = Writes::from([(id, None)]);
        let mut after = TaskList::default();
        for old in self.list.tasks.iter().filter(|old| old.id != id) {
            let mut new = old.clone();
            new.blocks.retain(|other| *other != id);
            new.blocked_by.retain(|other| *other != id);
            if rules::seal(&mut new, old) {
                writes.insert(new.id, Some(new.clone()));
            }
            after.tasks.push(new);
        }
        let result = unblocked(self.list, &after);
        let mut plan = self.changed(writes, result);
        plan.letters = self.actor.unblocked(&after, &plan.result);
        plan.events.push(Event::TaskDeleted {
            task: id,
            by: self.actor.by.name().to_string(),
        });
        Ok(plan)
    }

    fn require(&self, id: TaskId) -> Result<&Task> {
        self.list.require(self.actor.team, id)
    }

    fn changes(&self, writes: &Writes) -> Vec<Event> {
        changes(self.list, writes, self.actor.by.name().as_str())
    }

    fn changed<T>(&self, writes: Writes, result: T) -> Plan<T> {
        Plan {
            events: self.changes(&writes),
            writes,
            ..Plan::nothing(result)
        }
    }

    fn replaced(&self, before: &Task, mut task: Task) -> Plan<Task> {
        let mut writes = Writes::new();
        if rules::seal(&mut task, before) {
            writes.insert(task.id, Some(task.clone()));
        }
        self.changed(writes, task)
    }

    /// Adds the edges on both sides.
    fn connect(&self, list: &mut TaskList, id: TaskId, change: &TaskChange) -> Result<()> {
        let waiting = change.add_blocks.iter().map(|other| (*other, id));
        let awaited = change.add_blocked_by.iter().map(|other| (id, *other));
        let mut graph = Graph::of(&list.tasks);
        for (task, blocker) in waiting.chain(awaited) {
            let mut task = list.require(self.actor.team, task)?.clone();
            let mut blocker = list.require(self.actor.team, blocker)?.clone();
            graph
                .connect(task.id, blocker.id)
                .map_err(StoreError::Cycle)?;
            add_edges(&mut task.blocked_by, [blocker.id]);
            add_edges(&mut blocker.blocks, [task.id]);
            replace(list, task);
            replace(list, blocker);
        }
        Ok(())
    }
}

/// Releases the tasks of a departed owner; the result lists them.
pub(crate) fn return_tasks(list: &TaskList, returned: &Returned) -> Plan<Vec<TaskId>> {
    let held = list.tasks.iter().filter(|task| returned.holds(task));
    let writes: Writes = held
        .map(|task| (task.id, Some(returned.give_back(task))))
        .collect();
    Plan {
        events: changes(list, &writes, "swarm"),
        letters: Vec::new(),
        result: writes.keys().copied().collect(),
        writes,
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
        metadata.shift_remove(OWN_KEY);
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
