//! The inboxes of a team in records.

use std::collections::HashSet;

use swarm_protocol::{Event, InboxEntry, MemberName, MessageId, SpawnId};

use super::inbox::fold;
use super::key::Key;
use super::record::Outbox;
use super::team::RecordsTeam;
use super::values::{self, InboxValue};
use crate::mailbox::{queued, refuse_if_read_by_program};
use crate::roster::{has_living, member_of};
use crate::tasks::Letter;
use crate::{Draft, Inbox, NewMember, Result, StoreError};

impl RecordsTeam {
    pub(super) fn inbox(&self, name: &MemberName) -> Result<Inbox> {
        let entries = self.entries_heard(name)?;
        self.inbox_of(name, entries)
    }

    pub(super) fn inbox_at_rest(&self, name: &MemberName) -> Result<Inbox> {
        self.require_inbox(name)?;
        self.read_published(&values::inbox(name))?;
        let entries = self.entries_if_any(name)?;
        self.inbox_of(name, entries)
    }

    pub(super) fn archived_mail(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
        self.require_inbox(name)?;
        self.archived(name)
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
            let config = self.config()?;
            refuse_if_read_by_program(&config, name, || {
                Ok(self
                    .life_in(&config, member_of(&self.team, &config, name)?)?
                    .0)
            })
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
        self.change(&values::inbox(name), |inbox, _events| {
            if let Some(found) = inbox {
                let entries = &mut found.entries;
                entries.retain(|entry| id.is_none() || entry.msg_id.as_ref() != id);
                let is_unused = entries.is_empty() && found.next == 0 && found.read.is_empty();
                if is_unused && created_for_it {
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
        self.change(&values::inbox(to), |inbox, events| {
            // It follows all messages in the log.
            let sent = self.sent_since(to, inbox.as_ref(), &[])?;
            fold(inbox, &sent);
            let found = inbox.get_or_insert_default();
            if found.entries.iter().any(|old| old.msg_id == entry.msg_id) {
                // An earlier attempt was done, although the server refused its repetition.
                events.changes_nothing = true;
                return Ok(Vec::new());
            }
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
            None => self.no_inbox(name),
        }
    }

    fn inbox_of(&self, name: &MemberName, entries: Option<Vec<InboxEntry>>) -> Result<Inbox> {
        let entries = match entries {
            Some(entries) => entries,
            None => self.no_inbox(name)?.entries,
        };
        Ok(Inbox {
            entries,
            malformed: Vec::new(),
        })
    }

    /// Returns the inbox of a member without one.
    fn no_inbox(&self, name: &MemberName) -> Result<InboxValue> {
        member_of(&self.team, &self.config()?, name).map(|_| InboxValue::default())
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
        let wanted: HashSet<&MessageId> = ids.iter().collect();
        let is_wanted = |entry: &InboxEntry| {
            let id = entry.msg_id.as_ref();
            id.is_some_and(|id| wanted.contains(id))
        };
        self.change(&values::inbox(name), |inbox, events| {
            let in_log = self.sent_since(name, inbox.as_ref(), ids)?;
            if inbox.is_none() && in_log.is_empty() {
                self.no_inbox(name)?;
            }
            let found = inbox.get_or_insert_default();
            let mut acked = Vec::new();
            let stored = found.entries.iter_mut();
            for entry in stored.filter(|entry| !entry.read && is_wanted(entry)) {
                entry.read = true;
                acked.extend(entry.msg_id.clone());
            }
            for (at, entry) in in_log.iter().filter(|(_, entry)| is_wanted(entry)) {
                if !found.settles(*at) {
                    found.read.insert(*at);
                    acked.extend(entry.msg_id.clone());
                }
            }
            events.changes_nothing = acked.is_empty();
            if !acked.is_empty() {
                first(&acked, events)?;
                found.settle(&in_log);
                found.prune(&self.limits, |entry| events.archive(name, entry));
            }
            Ok(acked)
        })
    }
}
