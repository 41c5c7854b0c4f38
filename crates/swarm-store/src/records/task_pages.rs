//! The tasks of a team in records: pages of tasks, and one record that names them. A page is never
//! changed. A change stores new ones and replaces the record, which decides whether the change is done;
//! then the replaced pages are removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use swarm_protocol::{Task, TaskId};

use super::key::Key;
use super::record::{from_bytes, to_bytes};
use super::space::{NotWritten, WriteId};
use super::team::RecordsTeam;
use super::values::TasksValue;
use crate::tasks::Writes;
use crate::{Result, StoreError, TaskList};

/// Tasks per page. A change writes a page and the names of all pages.
const PAGE: u64 = 128;

/// Why tasks are not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// The list has changed: the page with this key was replaced.
    Replaced(Key),
    Failed(StoreError),
}

impl From<StoreError> for Unread {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

/// The tasks of one version of the list. Pages are read when they are needed.
pub(super) struct Pages<'a> {
    team: &'a RecordsTeam,
    list: &'a TasksValue,
}

impl<'a> Pages<'a> {
    pub(super) fn new(team: &'a RecordsTeam, list: &'a TasksValue) -> Self {
        Self { team, list }
    }

    /// Returns the whole list.
    pub(super) fn all(&self) -> Result<TaskList, Unread> {
        let mut list = TaskList::default();
        for number in self.list.pages.keys() {
            list.tasks.extend(self.page(*number)?.iter().cloned());
        }
        Ok(list)
    }

    /// Returns tasks with what a change of them may depend on: their dependents, and all blockers.
    pub(super) fn related(&self, ids: &[TaskId]) -> Result<TaskList, Unread> {
        let mut found = BTreeMap::new();
        self.add(&mut found, ids.iter().copied().collect())?;
        let blocked = found.values().flat_map(|task| task.blocks.clone());
        let blocked = blocked.collect();
        self.add(&mut found, blocked)?;
        let blockers = found.values().flat_map(|task| task.blocked_by.clone());
        let blockers = blockers.collect();
        self.add(&mut found, blockers)?;
        Ok(TaskList {
            tasks: found.into_values().collect(),
            broken: Vec::new(),
        })
    }

    fn add(&self, to: &mut BTreeMap<TaskId, Task>, ids: BTreeSet<TaskId>) -> Result<(), Unread> {
        for id in ids {
            if to.contains_key(&id) {
                continue;
            }
            let page = self.page(page_of(id))?;
            if let Ok(at) = page.binary_search_by_key(&id, |task| task.id) {
                to.insert(id, page[at].clone());
            }
        }
        Ok(())
    }

    fn page(&self, number: u64) -> Result<Arc<Vec<Task>>, Unread> {
        match self.list.pages.get(&number) {
            Some(id) => self.team.task_page(number, *id),
            None => Ok(Arc::default()),
        }
    }

    /// Stores the pages of a change. Returns the list with them, and the keys of those that they
    /// replace.
    pub(super) fn write(&self, writes: Writes) -> Result<(TasksValue, Vec<Key>), Unread> {
        let (mut list, mut replaced) = (self.list.clone(), Vec::new());
        let mut by_page: BTreeMap<u64, Writes> = BTreeMap::new();
        for (id, task) in writes {
            list.highest = list.highest.max(id.number());
            by_page.entry(page_of(id)).or_default().insert(id, task);
        }
        for (number, writes) in by_page {
            let mut tasks = Vec::clone(&*self.page(number)?);
            for (id, task) in writes {
                match (tasks.binary_search_by_key(&id, |task| task.id), task) {
                    (Ok(at), Some(task)) => tasks[at] = task,
                    (Ok(at), None) => drop(tasks.remove(at)),
                    (Err(at), Some(task)) => tasks.insert(at, task),
                    (Err(_), None) => {}
                }
            }
            let old = if tasks.is_empty() {
                list.pages.remove(&number)
            } else {
                let id = self.team.put_task_page(number, tasks)?;
                list.pages.insert(number, id)
            };
            replaced.extend(old.map(|old| key(number, old)));
        }
        Ok((list, replaced))
    }
}

impl RecordsTeam {
    fn task_page(&self, number: u64, id: WriteId) -> Result<Arc<Vec<Task>>, Unread> {
        if let Some((kept, page)) = self.seen.known.pages.lock().get(&number)
            && *kept == id
        {
            return Ok(Arc::clone(page));
        }
        let key = key(number, id);
        let found = self.answered(false, |at_most| self.space.read(&key, at_most))?;
        let Some(found) = found else {
            return Err(Unread::Replaced(key));
        };
        let page = Arc::new(from_bytes(&key, &found.value)?);
        self.seen
            .known
            .pages
            .lock()
            .insert(number, (id, Arc::clone(&page)));
        Ok(page)
    }

    fn put_task_page(&self, number: u64, tasks: Vec<Task>) -> Result<WriteId> {
        self.may_write(false)?;
        let id = WriteId::new_v4();
        let key = key(number, id);
        let value = to_bytes(&key, &tasks)?;
        let write = |at_most| match self.space.write(&key, 0, id, &value, at_most) {
            Ok(_) => Ok(true),
            Err(NotWritten::Conflict) => Ok(false),
            Err(NotWritten::No(no)) => Err(no),
        };
        let read = |at_most| self.space.read(&key, at_most);
        // No other process writes this key: after a conflict, an earlier attempt may have written it.
        while !self.answered(true, write)? && self.answered(false, read)?.is_none() {}
        self.seen
            .known
            .pages
            .lock()
            .insert(number, (id, Arc::new(tasks)));
        Ok(id)
    }

    /// Removes pages that the list does not name any more, or never has.
    pub(super) fn remove_pages(&self, pages: &[Key]) {
        for key in pages {
            let removed = self.answered(true, |at_most| self.space.remove_record(key, at_most));
            if let Err(error) = removed {
                tracing::warn!(%error, %key, "a page of the task list that is not used is left");
            }
        }
    }
}

/// Returns the key of a page.
pub(super) fn key(number: u64, id: WriteId) -> Key {
    Key::new(format!("page.tasks.{number}.{id}"))
}

fn page_of(id: TaskId) -> u64 {
    id.number() / PAGE
}
