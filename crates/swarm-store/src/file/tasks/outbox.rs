//! Messages of changes of the task list that are not in the inboxes yet. They are written before
//! the tasks and delivered after them, with the list locked, to inboxes that are free. What is left,
//! also by a killed process, the next holder of the list's lock delivers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use swarm_os::{LockGuard, PendingSync};
use swarm_protocol::{Event, InboxEntry, Member, MemberName, SpawnId, TaskId};

use crate::file::record;
use crate::file::team::{FileTeam, is_surely_there};
use crate::tasks::{Letter, Plan};
use crate::{Result, StoreError, Undelivered};

/// How long a change waits for the inboxes of its messages, all together, after it is done.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Outgoing {
    letter: Letter,
    /// The spawn of its receiver: a message to a former member is dropped.
    spawn: Option<SpawnId>,
    /// The change that it reports is done once this task has this version; `None` if it is known
    /// to be done.
    after: Option<(TaskId, u64)>,
    /// Why it could not be delivered, if that was tried.
    why: Option<String>,
}

impl FileTeam {
    /// Changes the task list, then delivers the messages of the change. A failure to deliver them
    /// is only logged, because the tasks have changed.
    pub(super) fn change_list<T>(&self, change: impl FnOnce(&LockGuard) -> Result<T>) -> Result<T> {
        let done = self.with_list_lock(|held| {
            let done = change(held)?;
            // What fails is tried again below.
            drop(self.settle(held, true));
            Ok(done)
        })?;
        if let Err(error) = self.settle_left() {
            tracing::warn!(team = %self.team, %error, "messages about tasks are delivered later");
        }
        Ok(done)
    }

    /// Waits for inboxes that were locked, without the list's lock, and delivers to them.
    fn settle_left(&self) -> Result<()> {
        let began = Instant::now();
        let left = self.outbox()?;
        let receivers: BTreeSet<_> = left.iter().map(|outgoing| &outgoing.letter.to).collect();
        if receivers.is_empty() {
            return Ok(());
        }
        let mut failed = BTreeMap::new();
        for to in receivers {
            let in_time = self.waiting_at_most(PATIENCE.saturating_sub(began.elapsed()));
            if let Err(error) = in_time.with_inbox_lock(to, |_held| Ok(())) {
                failed.insert(to, error);
            }
        }
        // The next holder of the lock delivers to the inboxes that are free by now.
        let in_time = self.waiting_at_most(PATIENCE);
        in_time.with_list_lock(|held| self.note_reasons(held, &failed))
    }

    /// Keeps why messages are not delivered yet, with the time that was really waited.
    fn note_reasons(
        &self,
        held: &LockGuard,
        failed: &BTreeMap<&MemberName, StoreError>,
    ) -> Result<()> {
        let mut outbox = self.outbox()?;
        let mut has_changed = false;
        for outgoing in &mut outbox {
            if let Some(error) = failed.get(&outgoing.letter.to) {
                outgoing.why = Some(error.to_string());
                has_changed = true;
            }
        }
        if has_changed {
            // Not synced: a reason may be lost, the messages are on disk.
            let _pending = self.place_outbox(held, &outbox)?;
        }
        Ok(())
    }

    /// Delivers what earlier changes have left, unless the list or the inbox is locked. A failure
    /// is only logged.
    pub(crate) fn retry_letters(&self) {
        let hurried = self.waiting_at_most(Duration::ZERO);
        if self.has_letters()
            && let Err(error) = hurried.with_list_lock(|_held| Ok(()))
        {
            tracing::warn!(team = %self.team, %error, "messages about tasks are delivered later");
        }
    }

    pub(crate) fn has_letters(&self) -> bool {
        is_surely_there(&self.at.tasks_outbox()).unwrap_or(true)
    }

    /// Returns each receiver once. A damaged file is reported by the next holder of the list's lock.
    pub(crate) fn undelivered(&self) -> Vec<Undelivered> {
        let mut found: Vec<Undelivered> = Vec::new();
        for outgoing in self.outbox().unwrap_or_default() {
            let was_tried = outgoing.why.is_some();
            let is_known = (found.iter()).any(|known| known.to == outgoing.letter.to);
            if is_known || (!was_tried && !self.is_due(&outgoing).unwrap_or(true)) {
                continue;
            }
            let killed = || "the process that changed it sent no message".to_owned();
            found.push(Undelivered {
                to: outgoing.letter.to,
                why: outgoing.why.unwrap_or_else(killed),
                was_tried,
            });
        }
        found
    }

    /// Keeps the messages of a change that is about to be written.
    pub(super) fn keep_letters<T>(&self, held: &LockGuard, plan: &Plan<T>) -> Result<()> {
        if plan.letters.is_empty() {
            return Ok(());
        }
        let config = self.read_config()?;
        let mut changed = plan.writes.iter();
        let after = changed.find_map(|(id, task)| Some((*id, task.as_ref()?.swarm().version)));
        let new = plan.letters.iter().map(|letter| Outgoing {
            spawn: config.member(&letter.to).and_then(Member::spawn_id),
            letter: letter.clone(),
            after,
            why: None,
        });
        let mut outbox = self.outbox()?;
        outbox.extend(new);
        Ok(self.place_outbox(held, &outbox)?.sync()?)
    }

    /// Drops messages of changes that were not done and to former members, and delivers the others to
    /// inboxes that are free. `is_new` says that messages that were not tried yet are those of a change
    /// that was just made. Requires the list's lock, under which members are removed from the roster.
    pub(super) fn settle(&self, held: &LockGuard, is_new: bool) -> Result<()> {
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
        let config = self.read_config()?;
        let mut left: Vec<Outgoing> = Vec::new();
        for outgoing in &outbox {
            let to = &outgoing.letter.to;
            let member = config.member(to);
            let is_former = member.is_none_or(|member| member.spawn_id() != outgoing.spawn);
            if is_former || !self.is_due(outgoing)? {
                continue;
            }
            // A message does not overtake an earlier one to the same inbox.
            let earlier = left.iter().find(|earlier| earlier.letter.to == *to);
            let why = if let Some(earlier) = earlier {
                earlier.why.clone()
            } else {
                let was_tried = outgoing.after.is_none() || !is_new;
                let tried = self.try_letter(&outgoing.letter, was_tried);
                // What fails only once is not left to the next change.
                let again = |error| self.try_letter(&outgoing.letter, true).map_err(|_| error);
                tried.or_else(again).err().map(|error| error.to_string())
            };
            if why.is_some() {
                left.push(Outgoing {
                    after: None,
                    // The first reason: the file is not written again for another waiting time.
                    why: outgoing.why.clone().or(why),
                    ..outgoing.clone()
                });
            }
        }
        if left.is_empty() {
            return Ok(held.remove(&path)?);
        }
        if left == outbox {
            return Ok(());
        }
        Ok(self.place_outbox(held, &left)?.sync()?)
    }

    /// Delivers a message, unless its inbox is locked. It may have been delivered if it was tried
    /// before.
    fn try_letter(&self, letter: &Letter, was_tried: bool) -> Result<()> {
        let Letter { to, entry } = letter;
        let hurried = self.waiting_at_most(Duration::ZERO);
        hurried.with_inbox_lock(to, |held| {
            if was_tried && self.was_sent(entry)? {
                return Ok(());
            }
            self.deliver_once(held, to, entry)
        })
    }

    fn outbox(&self) -> Result<Vec<Outgoing>> {
        Ok(record::read(&self.at.tasks_outbox())?.unwrap_or_default())
    }

    fn place_outbox(&self, held: &LockGuard, outbox: &[Outgoing]) -> Result<PendingSync> {
        let path = self.at.tasks_outbox();
        Ok(held.place(&path, &record::line(&path, &outbox)?)?)
    }

    /// Returns whether the change that a message reports is done.
    fn is_due(&self, outgoing: &Outgoing) -> Result<bool> {
        let Some((id, version)) = outgoing.after else {
            return Ok(true);
        };
        let task = self.read_task(id)?;
        Ok(matches!(task, Some(Ok(task)) if task.swarm().version >= version))
    }

    /// Returns whether a process that was killed or failed has delivered a message, which its
    /// receiver may have deleted.
    fn was_sent(&self, entry: &InboxEntry) -> Result<bool> {
        let Some(id) = &entry.msg_id else {
            return Ok(false);
        };
        let queued = |event: &Event| matches!(event, Event::Queued { msg_id, .. } if msg_id == id);
        Ok(self.last_event(id.as_str(), queued)?.is_some())
    }
}
