//! Messages of changes of the task list that are not in the inboxes yet. They are written before
//! the tasks, with the list locked, and delivered once it is unlocked. What a killed process has not
//! delivered, the next holder of the list's lock delivers, to inboxes that are free.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use swarm_os::LockGuard;
use swarm_protocol::TaskId;

use crate::file::record;
use crate::file::team::{FileTeam, is_surely_there};
use crate::tasks::{Letter, Plan};
use crate::{Result, StoreError};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Outgoing {
    letter: Letter,
    /// The change that it tells of is done once this task has this version.
    after: Option<(TaskId, u64)>,
}

impl FileTeam {
    /// Changes the task list, then delivers the messages of the change.
    pub(super) fn change_list<T>(&self, change: impl FnOnce(&LockGuard) -> Result<T>) -> Result<T> {
        let done = self.with_list_lock(change)?;
        self.deliver_letters();
        Ok(done)
    }

    /// Delivers what is in the outbox. A failure is only logged, because the tasks have changed.
    pub(crate) fn deliver_letters(&self) {
        if !self.has_letters() {
            return;
        }
        let waited = self.outbox().and_then(|outbox| {
            let each = outbox.iter().map(|outgoing| self.deliver_due(outgoing));
            each.fold(Ok(true), Result::and)
        });
        let settled = self.with_list_lock(|_held| Ok(()));
        if let Err(error) = waited.and(settled) {
            tracing::warn!(team = %self.team, %error, "messages about tasks are delivered later");
        }
    }

    pub(crate) fn has_letters(&self) -> bool {
        is_surely_there(&self.at.tasks_outbox()).unwrap_or(true)
    }

    /// Keeps the messages of a change that is about to be written.
    pub(super) fn keep_letters<T>(&self, held: &LockGuard, plan: &Plan<T>) -> Result<()> {
        if plan.letters.is_empty() {
            return Ok(());
        }
        let mut changed = plan.writes.iter();
        let after = changed.find_map(|(id, task)| Some((*id, task.as_ref()?.swarm().version)));
        let new = plan.letters.iter().cloned();
        let mut outbox = self.outbox()?;
        outbox.extend(new.map(|letter| Outgoing { letter, after }));
        self.write_outbox(held, &outbox)
    }

    /// Drops messages of changes that were not done, and delivers the others to inboxes that are
    /// free. Requires the list's lock.
    pub(super) fn settle_outbox(&self, held: &LockGuard) -> Result<()> {
        let path = self.at.tasks_outbox();
        if !is_surely_there(&path)? {
            return Ok(());
        }
        self.store.lock_options.abandon_attempt(&path)?;
        let outbox = match self.outbox() {
            Err(StoreError::Damaged { reason, .. }) => {
                return self.set_aside(&path, None, reason).map(drop);
            }
            read => read?,
        };
        let hurried = self.waiting_at_most(Duration::ZERO);
        let mut left = Vec::new();
        for mut outgoing in outbox {
            if !self.is_due(&outgoing)? {
                continue;
            }
            outgoing.after = None;
            if hurried.deliver_due(&outgoing).is_err() {
                left.push(outgoing);
            }
        }
        if left.is_empty() {
            return Ok(held.remove(&path)?);
        }
        self.write_outbox(held, &left)
    }

    fn outbox(&self) -> Result<Vec<Outgoing>> {
        Ok(record::read(&self.at.tasks_outbox())?.unwrap_or_default())
    }

    fn write_outbox(&self, held: &LockGuard, outbox: &[Outgoing]) -> Result<()> {
        let path = self.at.tasks_outbox();
        Ok(held.replace(&path, &record::line(&path, &outbox)?)?)
    }

    /// Returns whether the change that a message tells of is done.
    fn is_due(&self, outgoing: &Outgoing) -> Result<bool> {
        let Some((id, version)) = outgoing.after else {
            return Ok(true);
        };
        let task = self.read_task(id)?;
        Ok(matches!(task, Some(Ok(task)) if task.swarm().version >= version))
    }

    /// Returns whether a message is due, and then delivers it.
    fn deliver_due(&self, outgoing: &Outgoing) -> Result<bool> {
        let is_due = self.is_due(outgoing)?;
        if is_due {
            let Letter { to, entry } = &outgoing.letter;
            self.with_inbox_lock(to, |held| self.deliver_once(held, to, entry))?;
        }
        Ok(is_due)
    }
}
