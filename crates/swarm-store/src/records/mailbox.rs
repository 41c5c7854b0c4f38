//! The inboxes of a team in records.

use swarm_protocol::{Event, InboxEntry, MemberName, MessageId, SpawnId};

use super::record::{Outbox, from_bytes};
use super::team::RecordsTeam;
use super::values::{self, InboxValue};
use crate::mailbox::{queued, refuse_if_read_by_program, replaces};
use crate::roster::member_of;
use crate::{Cursor, Draft, Inbox, NewMember, Result, StoreError, StoreLimits};

impl RecordsTeam {
    pub(super) fn inbox(&self, name: &MemberName) -> Result<Inbox> {
        Ok(Inbox {
            entries: self.inbox_value(name)?.entries,
            malformed: Vec::new(),
        })
    }

    pub(super) fn inbox_at_rest(&self, name: &MemberName) -> Result<Inbox> {
        self.require_inbox(name)?;
        self.read_published(&values::inbox(name))?;
        self.inbox(name)
    }

    pub(super) fn archived_mail(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
        self.require_inbox(name)?;
        self.read_published(&values::inbox(name))?;
        Ok(self
            .lines(&values::archive(name), Cursor::default())?
            .entries)
    }

    pub(super) fn take_unread(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
        let entries = self.inbox_value(name)?.entries.into_iter();
        Ok(entries.filter(|entry| !entry.read).collect())
    }

    pub(super) fn ack(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>> {
        self.ack_after(name, ids, |_, _| Ok(()))
    }

    pub(super) fn ack_on_behalf(
        &self,
        name: &MemberName,
        ids: &[MessageId],
    ) -> Result<Vec<MessageId>> {
        self.ack_after(name, ids, |_, _| {
            refuse_if_read_by_program(&self.config()?, name, || self.liveness(name))
        })
    }

    pub(super) fn delivered(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>> {
        self.ack_after(name, ids, |unread, events| {
            events.extend(unread.iter().map(|msg_id| Event::Delivered {
                msg_id: msg_id.clone(),
                to: name.clone(),
            }));
            Ok(())
        })
    }
}

impl RecordsTeam {
    pub(super) fn has_inbox(&self, name: &MemberName) -> Result<bool> {
        Ok(self.inbox_if_any(name)?.is_some())
    }

    /// Sends the prompt of a reservation, unless it has been undone meanwhile.
    pub(super) fn deliver_prompt(
        &self,
        new: &NewMember,
        draft: Draft,
        id: MessageId,
    ) -> Result<()> {
        let entry = draft.into_entry(id, self.now());
        let spawn = Some(new.spawn_id);
        self.put(&new.entry.name, &entry, |inbox| {
            self.refuse_if_full(inbox, &new.entry.name, &entry)?;
            self.require_spawn(spawn).map(|()| true)
        })
        .map(drop)
    }

    /// Sends a message once, even if the inbox is full.
    pub(super) fn deliver_once(&self, to: &MemberName, entry: &InboxEntry) -> Result<()> {
        let Some(id) = &entry.msg_id else {
            return Ok(());
        };
        let inbox = self.read(&values::inbox(to))?;
        if inbox.is_some_and(|inbox| inbox.once.contains(id)) {
            return Ok(());
        }
        self.put(to, entry, |inbox| Ok(inbox.once.insert(id.clone())))
            .map(drop)
    }

    /// Takes a message out. The inbox is written even if the message is not there, so that a
    /// delivery that has not seen the end of its reservation is repeated.
    pub(super) fn withdraw(
        &self,
        name: &MemberName,
        id: Option<&MessageId>,
        created_for_it: bool,
    ) -> Result<()> {
        self.change_inbox(name, |inbox, _events| {
            if let Some(found) = inbox {
                let entries = &mut found.entries;
                entries.retain(|entry| id.is_none() || entry.msg_id.as_ref() != id);
                if entries.is_empty() && created_for_it && found.next == 0 {
                    *inbox = None;
                }
            }
            Ok(())
        })
    }

    /// Adds an entry to the record if `check` allows it. Returns the IDs of those that it replaces.
    pub(super) fn put(
        &self,
        to: &MemberName,
        entry: &InboxEntry,
        check: impl Fn(&mut InboxValue) -> Result<bool>,
    ) -> Result<Vec<MessageId>> {
        self.change_inbox(to, |inbox, events| {
            let found = inbox.get_or_insert_default();
            if !check(found)? {
                return Ok(Vec::new());
            }
            let superseded = found.add(entry.clone());
            found.prune(&self.limits, |entry| events.archive(to, entry));
            let id = entry.msg_id.clone().unwrap_or_else(MessageId::random);
            events.push(queued(to, entry, id, superseded.clone()));
            Ok(superseded)
        })
    }

    /// Changes the record of an inbox after the messages that were sent since its last change are in
    /// it; then these leave the log.
    fn change_inbox<R>(
        &self,
        name: &MemberName,
        mut edit: impl FnMut(&mut Option<InboxValue>, &mut Outbox) -> Result<R>,
    ) -> Result<R> {
        let (result, folded) = self.change(&values::inbox(name), |inbox, events| {
            let from = inbox.as_ref().map_or(0, |inbox| inbox.next);
            let folded = fold(inbox, self.sent(name, from)?);
            Ok((edit(inbox, events)?, folded))
        })?;
        if let Some(before) = folded {
            let log = values::sent(name).key;
            let trimmed = self.answered(true, |at_most| self.space.trim(&log, before, at_most));
            if let Err(error) = trimmed {
                tracing::warn!(%error, "messages stay in the log until the next change");
            }
        }
        Ok(result)
    }

    /// Returns the inbox with the messages that are not in its record. The log is read first, because
    /// messages leave it only when the record has them.
    pub(super) fn inbox_if_any(&self, name: &MemberName) -> Result<Option<InboxValue>> {
        let sent = self.sent(name, 0)?;
        let mut inbox = self.read(&values::inbox(name))?;
        fold(&mut inbox, sent);
        Ok(inbox)
    }

    fn sent(&self, name: &MemberName, from: u64) -> Result<Vec<(u64, InboxEntry)>> {
        let log = values::sent(name).key;
        let found = self.answered(false, |at_most| self.space.entries(&log, from, at_most))?;
        let entries = found.entries.into_iter();
        entries
            .map(|(next, entry)| Ok((next, from_bytes(&log, &entry)?)))
            .collect()
    }

    pub(super) fn refuse_if_full(
        &self,
        inbox: &InboxValue,
        to: &MemberName,
        entry: &InboxEntry,
    ) -> Result<()> {
        let unread = inbox.entries.iter().filter(|entry| !entry.read).count();
        self.limits.refuse_if_full(unread, to, entry)
    }

    fn require_spawn(&self, spawn: Option<SpawnId>) -> Result<()> {
        match spawn {
            Some(spawn_id) if !self.has_spawn(spawn_id)? => Err(StoreError::SpawnGone {
                team: self.team.clone(),
                spawn_id,
            }),
            _ => Ok(()),
        }
    }

    /// Accepts members, and former members with an inbox.
    fn require_inbox(&self, name: &MemberName) -> Result<()> {
        if self.has_inbox(name)? {
            return Ok(());
        }
        member_of(&self.team, &self.config()?, name).map(drop)
    }

    fn inbox_value(&self, name: &MemberName) -> Result<InboxValue> {
        match self.inbox_if_any(name)? {
            Some(inbox) => Ok(inbox),
            None => member_of(&self.team, &self.config()?, name).map(|_| InboxValue::default()),
        }
    }

    /// Passes the unread entries among `ids` to `first`, then marks them read; returns their IDs.
    fn ack_after(
        &self,
        name: &MemberName,
        ids: &[MessageId],
        first: impl Fn(&[MessageId], &mut Outbox) -> Result<()>,
    ) -> Result<Vec<MessageId>> {
        if ids.is_empty() {
            return self.require_inbox(name).map(|()| Vec::new());
        }
        self.change_inbox(name, |inbox, events| {
            let Some(inbox) = inbox else {
                return member_of(&self.team, &self.config()?, name).map(|_| Vec::new());
            };
            let mut acked = Vec::new();
            for entry in inbox.entries.iter_mut().filter(|entry| !entry.read) {
                if let Some(id) = entry.msg_id.clone().filter(|id| ids.contains(id)) {
                    entry.read = true;
                    acked.push(id);
                }
            }
            if !acked.is_empty() {
                first(&acked, events)?;
                inbox.prune(&self.limits, |entry| events.archive(name, entry));
            }
            Ok(acked)
        })
    }
}

/// Adds messages that were sent and are not in the inbox. Returns the position after them, if there
/// are any.
fn fold(inbox: &mut Option<InboxValue>, sent: Vec<(u64, InboxEntry)>) -> Option<u64> {
    if sent.is_empty() {
        return None;
    }
    let inbox = inbox.get_or_insert_default();
    for (next, entry) in sent {
        if next > inbox.next {
            // A server that restarted may not have recognized a repeated one that had left the log.
            if inbox.entries.iter().all(|old| old.msg_id != entry.msg_id) {
                inbox.add(entry);
            }
            inbox.next = next;
        }
    }
    Some(inbox.next)
}

impl InboxValue {
    /// Adds an entry. Returns the IDs of the unread ones that it replaces.
    pub(super) fn add(&mut self, entry: InboxEntry) -> Vec<MessageId> {
        let mut superseded = Vec::new();
        self.entries.retain(|old| {
            let goes = !old.read && replaces(&entry, old);
            superseded.extend(old.msg_id.clone().filter(|_| goes));
            !goes
        });
        self.entries.push(entry);
        superseded
    }

    /// Archives the oldest acknowledged entries until the inbox is within its bounds.
    fn prune(&mut self, limits: &StoreLimits, mut archive: impl FnMut(InboxEntry)) {
        let size = |entry: &InboxEntry| {
            let json = serde_json::to_string(entry);
            json.map_or(0, |json| json.len())
        };
        let acked = self.entries.iter().filter(|entry| entry.read).map(size);
        let acked: Vec<usize> = acked.collect();
        let all = self.entries.iter().map(size).sum();
        let mut surplus = limits.surplus(&acked, all);
        self.entries.retain(|entry| {
            let goes = entry.read && surplus > 0;
            if goes {
                surplus -= 1;
                archive(entry.clone());
            }
            !goes
        });
    }
}
