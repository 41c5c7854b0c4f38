//! The inboxes of a team in records.

use swarm_protocol::{Event, InboxEntry, MemberName, MessageId, SpawnId, TeamConfig};

use super::record::Outbox;
use super::team::RecordsTeam;
use super::values::{self, InboxValue};
use crate::mailbox::{queued, refuse_if_read_by_program, replaces};
use crate::roster::member_of;
use crate::{Cursor, Draft, Inbox, NewMember, Posted, Result, StoreError, StoreLimits};

impl RecordsTeam {
    pub(super) fn post(&self, to: &MemberName, draft: Draft) -> Result<Posted> {
        self.post_in(&self.config()?, to, draft)
    }

    pub(super) fn post_all(&self, letters: &[(MemberName, Draft)]) -> Result<Vec<Result<Posted>>> {
        let config = self.config()?;
        let outcomes = letters
            .iter()
            .map(|(to, draft)| self.post_in(&config, to, draft.clone()));
        Ok(outcomes.collect())
    }

    pub(super) fn inbox(&self, name: &MemberName) -> Result<Inbox> {
        Ok(Inbox {
            entries: self.inbox_value(name)?.entries,
            malformed: Vec::new(),
        })
    }

    pub(super) fn inbox_at_rest(&self, name: &MemberName) -> Result<Inbox> {
        self.require_inbox(name)?;
        let inbox = self.read_published(&values::inbox(name))?;
        Ok(Inbox {
            entries: inbox.unwrap_or_default().entries,
            malformed: Vec::new(),
        })
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
        Ok(self.read(&values::inbox(name))?.is_some())
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
        self.put(&new.name, &entry, |inbox| {
            self.refuse_if_full(inbox, &new.name, &entry)?;
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
        self.change(&values::inbox(name), |inbox, _events| {
            if let Some(found) = inbox {
                let entries = &mut found.entries;
                entries.retain(|entry| id.is_none() || entry.msg_id.as_ref() != id);
                if entries.is_empty() && created_for_it {
                    *inbox = None;
                }
            }
            Ok(())
        })
    }

    fn post_in(&self, config: &TeamConfig, to: &MemberName, draft: Draft) -> Result<Posted> {
        member_of(&self.team, config, to)?;
        self.limits.refuse_if_too_large(to, &draft)?;
        let id = MessageId::random();
        let entry = draft.into_entry(id.clone(), self.now());
        let superseded = self.put(to, &entry, |inbox| {
            self.refuse_if_full(inbox, to, &entry).map(|()| true)
        })?;
        Ok(Posted {
            msg_id: id,
            superseded,
            quarantine: None,
        })
    }

    /// Adds an entry if `check` allows it. Returns the IDs of those that it replaces.
    fn put(
        &self,
        to: &MemberName,
        entry: &InboxEntry,
        check: impl Fn(&mut InboxValue) -> Result<bool>,
    ) -> Result<Vec<MessageId>> {
        self.change(&values::inbox(to), |inbox, events| {
            let mut found = inbox.take().unwrap_or_default();
            let mut superseded = Vec::new();
            if check(&mut found)? {
                found.entries.retain(|old| {
                    let goes = !old.read && replaces(entry, old);
                    superseded.extend(old.msg_id.clone().filter(|_| goes));
                    !goes
                });
                found.entries.push(entry.clone());
                found.prune(&self.limits, |entry| events.archive(to, entry));
                let id = entry.msg_id.clone().unwrap_or_else(MessageId::random);
                events.push(queued(to, entry, id, superseded.clone()));
            }
            *inbox = Some(found);
            Ok(superseded)
        })
    }

    fn refuse_if_full(
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
        match self.read(&values::inbox(name))? {
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
        self.require_inbox(name)?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.change(&values::inbox(name), |inbox, events| {
            let Some(inbox) = inbox else {
                return Ok(Vec::new());
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

impl InboxValue {
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
