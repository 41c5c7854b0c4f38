//! The highest task number ever used, `.highwatermark`: numbers are never reused.

use std::str;

use swarm_os::{LockGuard, PendingSync};
use swarm_protocol::{Event, TaskId};

use crate::file::team::FileTeam;
use crate::{Result, StoreError};

impl FileTeam {
    /// Returns the highest number used so far. Requires the list's lock.
    pub(super) fn highest_given(&self) -> Result<u64> {
        let path = self.at.high_water_mark();
        let bytes = swarm_os::read_optional(&path)?.unwrap_or_default();
        let text = str::from_utf8(&bytes).unwrap_or("not text").trim();
        let mark = match text.parse::<u64>() {
            Ok(mark) => mark,
            Err(_) if text.is_empty() => 0,
            Err(error) => {
                self.store.lock_options.abandon_attempt(&path)?;
                self.set_aside(&path, None, error.to_string())?;
                self.highest_in_journal()?
            }
        };
        Ok(self.highest_number()?.max(mark))
    }

    /// Returns the first of `count` unused numbers. Requires the list's lock.
    pub(super) fn next_numbers(&self, count: usize) -> Result<u64> {
        let highest = self.highest_given()?;
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        match highest.checked_add(count) {
            Some(_) => Ok(highest + 1),
            None => Err(StoreError::NumbersUsedUp {
                directory: self.at.tasks().to_owned(),
                highest: TaskId::new(highest),
            }),
        }
    }

    /// Raises the mark, before the task itself is written or deleted. It must be on disk before the
    /// last task is deleted: the number of an existing task is not used again without the mark.
    pub(super) fn raise_mark(&self, held: &LockGuard, number: u64) -> Result<PendingSync> {
        Ok(held.place(&self.at.high_water_mark(), number.to_string().as_bytes())?)
    }

    fn highest_in_journal(&self) -> Result<u64> {
        let events = self.events_with("task_created")?;
        let made = events.iter().filter_map(|entry| match &entry.event {
            Event::TaskCreated { task, .. } => Some(task.number()),
            _ => None,
        });
        Ok(made.max().unwrap_or(0))
    }
}
