//! Reading the inboxes of a team in records: the record, and the log of messages that it does not
//! have yet.

use std::collections::HashSet;

use swarm_protocol::{InboxEntry, MemberName, MessageId};

use super::bell::Rings;
use super::key::Key;
use super::record::from_bytes;
use super::seen::Tail;
use super::team::RecordsTeam;
use super::values::{self, InboxValue};
use crate::mailbox::{replaces, replaces_others};
use crate::{Result, StoreLimits};

/// Messages with their positions in the log.
pub(super) type Sent = Vec<(u64, InboxEntry)>;

/// Most messages that are read and stay in the log: moving them into the record takes more requests
/// than an acknowledgement.
const READ_IN_LOG: usize = 64;

impl RecordsTeam {
    /// Returns the inbox with the messages that are not in its record. The record is read before the
    /// log, for the position, and after it: a message leaves the log only when the record has it.
    pub(super) fn inbox_if_any(&self, name: &MemberName) -> Result<Option<InboxValue>> {
        let record = values::inbox(name);
        // Searching the whole log takes the server longer than another request.
        let earlier = self.read(&record)?;
        let sent = self.sent(name, earlier.map_or(0, |inbox| inbox.next))?;
        let mut inbox = self.read(&record)?;
        fold(&mut inbox, sent);
        Ok(inbox)
    }

    /// The same for an inbox that this handle watches, without what was not heard of yet and without
    /// what is read in the log.
    pub(super) fn inbox_heard(&self, name: &MemberName) -> Result<Option<InboxValue>> {
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
        let is_first = tail.end == 0;
        if !self.hear_on(&log, &mut tail, before)? {
            self.read_on(&log, &mut tail, before)?;
        }
        let mut inbox = self.read_watched(&values::inbox(name))?;
        if let Some(inbox) = &inbox {
            let dropped = tail.drop_until(inbox.next);
            if is_first {
                // Whoever moved them ended before they were removed.
                self.remove_sent(name, &dropped);
            }
        }
        let unread = unread(&tail.entries, inbox.as_ref());
        fold(&mut inbox, unread);
        Ok(inbox)
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

    /// Returns the unread messages of a watched inbox that this handle knows and the record does not have,
    /// if the wanted ones are known and few are read in the log: then an acknowledgement leaves them there.
    pub(super) fn known_sent(
        &self,
        name: &MemberName,
        inbox: Option<&InboxValue>,
        wanted: &[MessageId],
    ) -> Option<Sent> {
        let log = values::sent(name).key;
        let read = inbox.map_or(0, |inbox| inbox.read.len());
        if self.seen.rings(&log).is_none() || read + wanted.len() > READ_IN_LOG {
            return None;
        }
        let tail = self.seen.tail(name);
        let known = tail.lock();
        let known = &known.entries;
        has_all(known, inbox, wanted).then(|| unread(known, inbox))
    }

    /// Returns the messages in the log that the record does not have: all, or those that this handle has
    /// heard of if the wanted ones are among them.
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
        let is_complete = self.hear_on(&log, &mut tail, before)?;
        if !is_complete || !has_all(&tail.entries, inbox, wanted) {
            self.read_on(&log, &mut tail, before)?;
        }
        Ok(tail.entries.clone())
    }

    /// Removes messages that the record has from the log. Nobody reads those that stay there.
    pub(super) fn remove_sent(&self, name: &MemberName, at: &[u64]) {
        if at.is_empty() {
            return;
        }
        let log = values::sent(name).key;
        let remove = |at_most| self.space.remove_entries(&log, at, at_most);
        if let Err(error) = self.answered(false, remove) {
            tracing::warn!(%error, "messages that the inbox has stay in the log");
        }
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

/// Returns those messages in the log that are not read, and those that replace others.
fn unread(in_log: &[(u64, InboxEntry)], inbox: Option<&InboxValue>) -> Sent {
    let is_read = |at: &u64| inbox.is_some_and(|inbox| inbox.read.contains(at));
    let in_log = in_log.iter();
    in_log
        .filter(|(at, entry)| !is_read(at) || replaces_others(entry))
        .cloned()
        .collect()
}

/// Adds messages that were sent and are not in the inbox. Returns the position after them, if there
/// are any.
pub(super) fn fold(
    inbox: &mut Option<InboxValue>,
    sent: impl IntoIterator<Item = (u64, InboxEntry)>,
) -> Option<u64> {
    let mut sent = sent.into_iter().peekable();
    sent.peek()?;
    let inbox = inbox.get_or_insert_default();
    let ids = inbox.entries.iter().map(|entry| entry.msg_id.clone());
    let mut ids: HashSet<Option<MessageId>> = ids.collect();
    for (next, mut entry) in sent {
        if next > inbox.next {
            entry.read |= inbox.read.remove(&next);
            // A server that restarted may not have recognized a repeated one that had left the log.
            if ids.insert(entry.msg_id.clone()) {
                inbox.add(entry);
            }
            inbox.next = next;
        }
    }
    Some(inbox.next)
}

impl InboxValue {
    /// Returns how many entries are not read.
    pub(super) fn count_unread(&self) -> usize {
        self.entries.iter().filter(|entry| !entry.read).count()
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

    /// Archives the oldest acknowledged entries until the inbox is within its bounds.
    pub(super) fn prune(&mut self, limits: &StoreLimits, mut archive: impl FnMut(InboxEntry)) {
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
