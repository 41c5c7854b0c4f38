//! Atomic writes of several task files: the writes are first recorded in one file, and the next
//! holder of the list's lock completes an interrupted write.

use serde::{Deserialize, Serialize};
use swarm_os::LockGuard;
use swarm_protocol::{Task, TaskId};

use crate::file::record;
use crate::file::team::{FileTeam, is_there};
use crate::tasks::{Writes, add_edges};
use crate::{Result, StoreError};

/// `tasks.redo.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Redo {
    writes: Vec<Write>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Write {
    id: TaskId,
    /// Previous content of the file; `None` if it did not exist.
    before: Option<String>,
    /// New task; `None` if it is deleted.
    after: Option<Task>,
}

impl FileTeam {
    /// Writes task files atomically. Requires their locks and that of the list.
    pub(super) fn write_tasks(&self, held: &LockGuard, writes: &Writes) -> Result<()> {
        if writes.len() < 2 {
            return self.put_all(held, writes);
        }
        let redo = self.at.tasks_redo();
        let mut noted = Vec::with_capacity(writes.len());
        for (id, after) in writes {
            noted.push(Write {
                id: *id,
                before: self.text_of(*id)?,
                after: after.clone(),
            });
        }
        held.replace(&redo, &record::line(&redo, &Redo { writes: noted })?)?;
        // The write is now durable: the next holder of the list's lock completes it, so a failure
        // from here on must not be returned.
        let put = self.put_all(held, writes);
        if let Err(error) = put.and_then(|()| Ok(held.remove(&redo)?)) {
            tracing::warn!(team = %self.team, %error, "cannot complete a write of several tasks; the next command does");
        }
        Ok(())
    }

    /// Completes an interrupted write. Requires the list's lock.
    pub(super) fn complete_redo(&self, held: &LockGuard) -> Result<()> {
        let path = self.at.tasks_redo();
        if is_there(&path) {
            self.store.lock_options.abandon_attempt(&path)?;
        }
        let redo: Redo = match record::read(&path) {
            Ok(None) => return Ok(()),
            Ok(Some(redo)) => redo,
            Err(StoreError::Damaged { reason, .. }) => {
                return self.set_aside(&path, None, reason).map(drop);
            }
            Err(error) => return Err(error),
        };
        tracing::warn!(team = %self.team, tasks = redo.writes.len(), "completing an interrupted write of tasks");
        self.store
            .announce_completion(&self.team, redo.writes.len());
        let there = redo.writes.iter().map(|write| write.id);
        let there: Vec<TaskId> = there.filter(|id| is_there(&self.at.task(*id))).collect();
        self.with_task_locks(held, &there, || {
            let mut writes = Writes::new();
            for write in redo.writes {
                let id = write.id;
                let after = self.rebase(write)?;
                if !self.stands(id, after.as_ref())? {
                    writes.insert(id, after);
                }
            }
            self.put_all(held, &writes)
        })?;
        Ok(held.remove(&path)?)
    }

    /// Returns whether a task's file already has its new content. Its directory entry may not be on
    /// disk yet; the next sync of the directory writes it.
    fn stands(&self, id: TaskId, after: Option<&Task>) -> Result<bool> {
        let found = self.read_task(id)?;
        Ok(match (found, after) {
            (Some(Ok(found)), Some(after)) => found == *after,
            (None, None) => true,
            _ => false,
        })
    }

    /// Merges a recorded write with a later change by another program: its task, with the recorded
    /// edges.
    fn rebase(&self, write: Write) -> Result<Option<Task>> {
        if self.text_of(write.id)? == write.before {
            return Ok(write.after);
        }
        let (Some(mut ours), Some(Ok(theirs))) = (write.after.clone(), self.read_task(write.id)?)
        else {
            return Ok(write.after);
        };
        if ours == theirs {
            return Ok(write.after);
        }
        let edges = (
            std::mem::take(&mut ours.blocks),
            std::mem::take(&mut ours.blocked_by),
        );
        ours = theirs;
        add_edges(&mut ours.blocks, edges.0);
        add_edges(&mut ours.blocked_by, edges.1);
        Ok(Some(ours))
    }

    fn put_all(&self, held: &LockGuard, writes: &Writes) -> Result<()> {
        let mut files = Vec::with_capacity(writes.len());
        let mut gone = Vec::new();
        for (id, after) in writes {
            let path = self.at.task(*id);
            match after {
                Some(task) => {
                    let text = record::pretty(&path, task)?;
                    files.push((path, text));
                }
                None => gone.push(path),
            }
        }
        let placed = held.place_all(self.at.tasks(), &files)?;
        for path in gone {
            held.remove_unsynced(&path)?;
        }
        // One flush of the directory, for what was replaced and what was removed.
        Ok(placed.sync()?)
    }

    fn text_of(&self, id: TaskId) -> Result<Option<String>> {
        let bytes = swarm_os::read_optional(&self.at.task(id))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }
}
