//! Reading the inboxes of a team in records: the record, and the log of the messages that were sent, which
//! stay there.

use std::collections::HashSet;

use swarm_protocol::{InboxEntry, MemberName, MessageId};

use super::bell::Rings;
use super::key::Key;
use super::record::from_bytes;
use super::seen::Tail;
use super::team::RecordsTeam;
use super::values::{self, InboxValue};
use crate::mailbox::{replaces, replaces_others};
use crate::{Cursor, Result, StoreLimits};

/// Messages with their positions in the log.
pub(super) type Sent = Vec<(u64, InboxEntry)>;

/// Most messages that are read in the log behind an unread one: each change of the record writes their
/// positions.
const READ_BEHIND: usize = 64;

/// Acknowledged messages that stay in the record, which each acknowledgement writes.
const IN_RECORD: usize = 8;

impl RecordsTeam {
    /// Returns the inbox with all unread messages in its entries.
    pub(super) fn inbox_if_any(&self, name: &MemberName) -> Result<Option<InboxValue>> {
        let mut inbox = self.read(&values::inbox(name))?;
        let sent = self.sent(name, inbox.as_ref().map_or(0, |inbox| inbox.next))?;
        fold(&mut inbox, &sent);
        Ok(inbox)
    }

    /// The same for an inbox that this handle watches, without what was not heard of yet.
    pub(super) fn inbox_heard(&self, name: &MemberName) -> Result<Option<InboxValue>> {
        let heard = self.heard(name, |mut inbox, tail| {
            fold(&mut inbox, &tail.entries);
            inbox
        });
        Ok(heard?.flatten())
    }

    /// Returns the entries of an inbox: those that are unread, and the last ones that were read. If this
    /// handle watches it, without what was not heard of yet.
    pub(super) fn entries_heard(&self, name: &MemberName) -> Result<Option<Vec<InboxEntry>>> {
        let heard = self.heard(name, |inbox, tail| {
            let begin = inbox.as_ref().map_or(0, InboxValue::begin);
            (tail.begin <= begin).then(|| entries(inbox, &tail.entries))
        })?;
        match heard.flatten() {
            Some(entries) => Ok(entries),
            None => self.entries_if_any(name),
        }
    }

    /// Returns the entries of an inbox: those that are unread, and the last ones that were read.
    pub(super) fn entries_if_any(&self, name: &MemberName) -> Result<Option<Vec<InboxEntry>>> {
        let inbox = self.read(&values::inbox(name))?;
        let begin = inbox.as_ref().map_or(0, InboxValue::begin);
        let sent = self.sent(name, begin)?;
        Ok(entries(inbox, &sent))
    }

    /// Passes the record of an inbox that this handle watches to `look`, with the end of the log as it was
    /// heard.
    fn heard<T>(
        &self,
        name: &MemberName,
        look: impl FnOnce(Option<InboxValue>, &Tail) -> T,
    ) -> Result<Option<T>> {
        let log = values::sent(name).key;
        let Some(before) = self.seen.rings(&log) else {
            return Ok(None);
        };
        let tail = self.seen.tail(name);
        let mut tail = if let Some(tail) = tail.try_lock() {
            tail
        } else {
            self.require_patience()?;
            tail.lock()
        };
        let inbox = self.read_watched(&values::inbox(name))?;
        if let Some(inbox) = &inbox {
            tail.begin_with(inbox);
        }
        if !self.hear_on(&log, &mut tail, before)? {
            self.read_on(&log, &mut tail, before)?;
        }
        Ok(Some(look(inbox, &tail)))
    }

    /// Returns the entries that have left the inbox, oldest first. The log of an inbox has all messages that
    /// were appended to it.
    pub(super) fn archived(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
        let inbox = self.read_published(&values::inbox(name))?;
        let inbox = inbox.unwrap_or_default();
        let log = values::archive(name);
        let mut archived = self.lines(&log, Cursor::default())?.entries;
        let sent = self.sent(name, 0)?.into_iter();
        let has_left = |at: u64| at <= inbox.next && !inbox.read.contains(&at);
        archived.extend(sent.filter(|(at, _)| has_left(*at)).map(as_read));
        let ids = inbox.entries.iter().map(|entry| entry.msg_id.clone());
        let mut ids: HashSet<_> = ids.collect();
        archived.retain(|entry| ids.insert(entry.msg_id.clone()));
        archived.sort_by_key(|entry| entry.timestamp.unix_ms());
        Ok(archived)
    }

    /// Adds what was heard. Returns `false` if the log may have more.
    fn hear_on(&self, log: &Key, tail: &mut Tail, before: Rings) -> Result<bool> {
        if tail.has_missed(before) {
            return Ok(false);
        }
        let heard = self.space.heard_entries(log, tail.end);
        let later = self.seen.rings(log);
        if later.is_none_or(|rings| tail.has_missed(rings)) {
            return Ok(false);
        }
        let end = heard.last().map_or(tail.end, |(at, _)| *at);
        tail.add(parsed(log, &heard)?, end, before);
        Ok(end >= before.newest)
    }

    /// Reads the entries that the log has got since the last time.
    fn read_on(&self, log: &Key, tail: &mut Tail, before: Rings) -> Result<()> {
        let end = self.answered(false, |at_most| self.space.end(log, at_most))?;
        if end < tail.end {
            // The log of another team of this name.
            *tail = Tail::default();
        }
        let found = self.answered(false, |at_most| self.space.entries(log, tail.end, at_most))?;
        let read = parsed(log, &found.entries)?;
        tail.add(read, found.next.max(end), before);
        Ok(())
    }

    /// Returns the messages in the log that the record does not settle, and perhaps older ones: all, or those
    /// that this handle has heard of if the wanted ones are among them.
    pub(super) fn sent_since(
        &self,
        name: &MemberName,
        inbox: Option<&InboxValue>,
        wanted: &[MessageId],
    ) -> Result<Sent> {
        let log = values::sent(name).key;
        let Some(before) = self.seen.rings(&log) else {
            return self.sent(name, inbox.map_or(0, |inbox| inbox.next));
        };
        let tail = self.seen.tail(name);
        let mut tail = tail.lock();
        if let Some(inbox) = inbox {
            tail.begin_with(inbox);
        }
        let next = inbox.map_or(0, |inbox| inbox.next);
        if next < tail.next {
            // Another call has seen a later record, and dropped what that settles.
            drop(tail);
            return self.sent(name, next);
        }
        let mut is_known = has_all(&tail.entries, inbox, wanted);
        if !is_known && self.hear_on(&log, &mut tail, before)? {
            is_known = has_all(&tail.entries, inbox, wanted);
        }
        if !is_known {
            self.read_on(&log, &mut tail, before)?;
        }
        Ok(tail.entries.clone())
    }

    fn sent(&self, name: &MemberName, from: u64) -> Result<Sent> {
        let log = values::sent(name).key;
        let found = self.answered(false, |at_most| self.space.entries(&log, from, at_most))?;
        parsed(&log, &found.entries)
    }
}

fn parsed(log: &Key, entries: &[(u64, Vec<u8>)]) -> Result<Sent> {
    let entries = entries.iter();
    entries
        .map(|(at, entry)| Ok((*at, from_bytes(log, entry)?)))
        .collect()
}

/// Returns whether there are wanted messages, and all of them are in the log or in the record.
fn has_all(in_log: &[(u64, InboxEntry)], inbox: Option<&InboxValue>, wanted: &[MessageId]) -> bool {
    let stored = inbox.into_iter().flat_map(|inbox| &inbox.entries);
    let ids: HashSet<&MessageId> = stored
        .chain(in_log.iter().map(|(_, entry)| entry))
        .filter_map(|entry| entry.msg_id.as_ref())
        .collect();
    !wanted.is_empty() && wanted.iter().all(|id| ids.contains(id))
}

/// Returns the entries of an inbox: those that are unread, and the last ones that were read.
fn entries(mut inbox: Option<InboxValue>, sent: &[(u64, InboxEntry)]) -> Option<Vec<InboxEntry>> {
    let is_read = |at: &u64| inbox.as_ref().is_some_and(|inbox| inbox.read.contains(at));
    let read = sent.iter().filter(|(at, _)| is_read(at)).cloned();
    let mut entries: Vec<_> = read.map(as_read).collect();
    fold(&mut inbox, sent);
    entries.extend(inbox?.entries);
    entries.sort_by_key(|entry| entry.timestamp.unix_ms());
    Some(entries)
}

fn as_read((_, entry): (u64, InboxEntry)) -> InboxEntry {
    InboxEntry {
        read: true,
        ..entry
    }
}

/// Adds unread messages of the log.
pub(super) fn fold(inbox: &mut Option<InboxValue>, sent: &[(u64, InboxEntry)]) {
    if !sent.is_empty() {
        inbox.get_or_insert_default().fold(sent);
    }
}

impl InboxValue {
    /// Returns whether a message in the log is read or in the record.
    pub(super) fn settles(&self, at: u64) -> bool {
        at <= self.next || self.read.contains(&at)
    }

    /// Returns how many entries are not read.
    pub(super) fn count_unread(&self) -> usize {
        self.entries.iter().filter(|entry| !entry.read).count()
    }

    /// Returns the position after which the log has entries of the inbox.
    pub(super) fn begin(&self) -> u64 {
        let oldest = self.read.first().map_or(u64::MAX, |at| at - 1);
        oldest.min(self.next)
    }

    /// Adds unread messages of the log.
    fn fold(&mut self, sent: &[(u64, InboxEntry)]) {
        for (at, entry) in sent {
            if !self.settles(*at) {
                self.add(entry.clone());
            }
            self.next = self.next.max(*at);
        }
    }

    /// Moves `next` after messages that are read. If too many follow unread ones, it adds those.
    pub(super) fn settle(&mut self, in_log: &[(u64, InboxEntry)]) {
        let is_settled = |(at, _): &(u64, InboxEntry)| self.settles(*at);
        let unread = in_log.iter().position(|one| !is_settled(one));
        let mut settled = unread.unwrap_or(in_log.len());
        let behind = in_log[settled..].iter().filter(|one| is_settled(one));
        if behind.count() > READ_BEHIND {
            let last = in_log.iter().rposition(is_settled);
            settled = last.map_or(settled, |last| last + 1);
        }
        self.fold(&in_log[..settled]);
    }

    /// Adds an entry. Returns the IDs of the unread ones that it replaces.
    pub(super) fn add(&mut self, entry: InboxEntry) -> Vec<MessageId> {
        let mut superseded = Vec::new();
        if replaces_others(&entry) {
            self.entries.retain(|old| {
                let goes = !old.read && replaces(&entry, old);
                superseded.extend(old.msg_id.clone().filter(|_| goes));
                !goes
            });
        }
        self.entries.push(entry);
        superseded
    }

    /// Archives the oldest acknowledged entries until the inbox is within its bounds. Those in the log stay
    /// there.
    pub(super) fn prune(&mut self, limits: &StoreLimits, mut archive: impl FnMut(InboxEntry)) {
        let before_next = self.read.range(..=self.next).count();
        for _ in limits.keep_acked..before_next {
            self.read.pop_first();
        }
        let size = |entry: &InboxEntry| {
            let json = serde_json::to_string(entry);
            json.map_or(0, |json| json.len())
        };
        let acked = self.entries.iter().filter(|entry| entry.read).map(size);
        let acked: Vec<usize> = acked.collect();
        let all = self.entries.iter().map(size).sum();
        let in_record = StoreLimits {
            keep_acked: limits.keep_acked.min(IN_RECORD),
            ..limits.clone()
        };
        let mut surplus = in_record.surplus(&acked, all);
        // Those that were read in the log do not stay longer than entries that leave now.
        let older = self.read.range(..=self.next).take(surplus).count();
        for _ in 0..older {
            self.read.pop_first();
        }
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
