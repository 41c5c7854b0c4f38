//! The inboxes of a team in records.

use std::collections::HashSet;

use swarm_protocol::{Event, InboxEntry, MemberName, MessageId, SpawnId};

use super::inbox::{Sent, fold};
use super::key::Key;
use super::record::Outbox;
use super::team::RecordsTeam;
use super::values::{self, InboxValue};
use crate::mailbox::{queued, refuse_if_read_by_program};
use crate::roster::{has_living, member_of};
use crate::tasks::Letter;
use crate::{Cursor, Draft, Inbox, NewMember, Result, StoreError};

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
        let mut inbox = match self.inbox_heard(name)? {
            Some(inbox) => inbox,
            None => self.inbox_value(name)?,
        };
        inbox.entries.retain(|entry| !entry.read);
        Ok(inbox.entries)
    }

    pub(super) fn count_unread(&self, name: &MemberName) -> Result<usize> {
        Ok(self.inbox_value(name)?.count_unread())
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

    /// Sends a message of a change once, even if the inbox is full. `at` is the revision of the record
    /// that was changed, and the number of the message: the next change of the record sends these
    /// messages first, in their order.
    pub(super) fn deliver_letter(
        &self,
        record: &Key,
        at: (u64, usize),
        letter: &Letter,
    ) -> Result<()> {
        let is_new = |inbox: &InboxValue| {
            let last = inbox.letters.get(record.as_str());
            last.is_none_or(|last| *last < at)
        };
        self.deliver_once(&letter.to, &letter.entry, is_new, |inbox| {
            inbox.letters.insert(record.to_string(), at);
            Ok(true)
        })
    }

    /// Sends the news about the end of a spawn once, even if the inbox is full. It is sent before the
    /// end is in the roster, so a spawn that is not there, or is dead, needs no news.
    pub(super) fn deliver_end(
        &self,
        to: &MemberName,
        spawn: SpawnId,
        entry: &InboxEntry,
    ) -> Result<()> {
        let is_new = |inbox: &InboxValue| !inbox.ends.contains(&spawn);
        self.deliver_once(to, entry, is_new, |inbox| {
            let config = self.config()?;
            let is_open = |spawn: &SpawnId| has_living(&config, *spawn);
            inbox.ends.retain(is_open);
            Ok(is_open(&spawn) && inbox.ends.insert(spawn))
        })
    }

    /// Sends a message if `is_new`. `note` remembers that, and may still refuse it.
    fn deliver_once(
        &self,
        to: &MemberName,
        entry: &InboxEntry,
        is_new: impl Fn(&InboxValue) -> bool,
        note: impl Fn(&mut InboxValue) -> Result<bool>,
    ) -> Result<()> {
        let inbox = self.read(&values::inbox(to))?;
        if inbox.is_some_and(|inbox| !is_new(&inbox)) {
            return Ok(());
        }
        let put = self.put(to, entry, |inbox| Ok(is_new(inbox) && note(inbox)?));
        put.map(drop)
    }

    /// Takes a message out. The inbox is written even if the message is not there, so that a
    /// delivery that has not seen the end of its reservation is repeated.
    pub(super) fn withdraw(
        &self,
        name: &MemberName,
        id: Option<&MessageId>,
        created_for_it: bool,
    ) -> Result<()> {
        self.change_inbox(name, &[], |inbox, _, _events| {
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
        self.change_inbox(to, &[], |inbox, _, events| {
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
    /// it; then these leave the log. If only messages are `wanted` that this handle knows, `edit` gets
    /// those that stay in the log.
    fn change_inbox<R>(
        &self,
        name: &MemberName,
        wanted: &[MessageId],
        mut edit: impl FnMut(&mut Option<InboxValue>, Sent, &mut Outbox) -> Result<R>,
    ) -> Result<R> {
        let (result, moved) = self.change(&values::inbox(name), |inbox, events| {
            let known = self.known_sent(name, inbox.as_ref(), wanted);
            let mut moved = Vec::new();
            if known.is_none() {
                let sent = self.sent_since(name, inbox.as_ref(), wanted)?;
                moved.extend(sent.iter().map(|(at, _)| *at));
                fold(inbox, sent);
            }
            Ok((edit(inbox, known.unwrap_or_default(), events)?, moved))
        })?;
        if let Some(last) = moved.last() {
            self.seen.tail(name).lock().drop_until(*last);
            self.remove_sent(name, &moved);
        }
        Ok(result)
    }

    pub(super) fn refuse_if_full(
        &self,
        inbox: &InboxValue,
        to: &MemberName,
        entry: &InboxEntry,
    ) -> Result<()> {
        self.limits.refuse_if_full(inbox.count_unread(), to, entry)
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
        let wanted = ids;
        let ids: HashSet<&MessageId> = ids.iter().collect();
        self.change_inbox(name, wanted, |inbox, in_log, events| {
            if inbox.is_none() && in_log.is_empty() {
                return member_of(&self.team, &self.config()?, name).map(|_| Vec::new());
            }
            let mut seen = inbox.clone();
            fold(&mut seen, in_log.iter().cloned());
            let unread = seen.into_iter().flat_map(|seen| seen.entries);
            let unread = unread.filter(|entry| !entry.read);
            let acked = unread.filter_map(|entry| entry.msg_id);
            let acked: Vec<MessageId> = acked.filter(|id| ids.contains(id)).collect();
            let inbox = inbox.get_or_insert_default();
            let among: HashSet<&MessageId> = acked.iter().collect();
            let is_acked = |entry: &InboxEntry| {
                let id = entry.msg_id.as_ref();
                id.is_some_and(|id| among.contains(id))
            };
            for entry in inbox.entries.iter_mut().filter(|entry| is_acked(entry)) {
                entry.read = true;
            }
            let is_not_moved = |at: &u64| *at > inbox.next;
            let in_log = in_log.iter().filter(|(_, entry)| is_acked(entry));
            let in_log = in_log.map(|(at, _)| *at).filter(is_not_moved);
            inbox.read.extend(in_log);
            if !acked.is_empty() {
                first(&acked, events)?;
                inbox.prune(&self.limits, |entry| events.archive(name, entry));
            }
            Ok(acked)
        })
    }
}
