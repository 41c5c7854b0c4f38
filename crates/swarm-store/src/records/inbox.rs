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

    /// The same for an inbox that this handle watches, without what was not heard of yet.
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
        fold(&mut inbox, tail.entries.iter().cloned());
        Ok(inbox)
    }

    /// Adds what was heard and not read. Returns `false` if the log may have more.
    fn hear_on(&self, log: &Key, tail: &mut Tail, now: Rings) -> Result<bool> {
        if tail.has_missed(now) {
            return Ok(false);
        }
        let heard = self.space.heard_entries(log, tail.newest());
        let later = self.seen.rings(log);
        if later.is_none_or(|rings| tail.has_missed(rings)) {
            return Ok(false);
        }
        tail.entries.extend(parsed(log, &heard)?);
        Ok(tail.newest() >= now.newest)
    }

    /// Reads the entries that the log has got since the last reading. An announcement may be lost, so
    /// nothing leaves the log because of what was heard.
    fn read_on(&self, log: &Key, tail: &mut Tail, before: Rings) -> Result<()> {
        let end = self.answered(false, |at_most| self.space.end(log, at_most))?;
        if end < tail.end {
            // The log of another team of this name.
            *tail = Tail::default();
        }
        let found = self.answered(false, |at_most| self.space.entries(log, tail.end, at_most))?;
        let mut heard = tail.take_heard();
        let mut read = Vec::new();
        for (at, entry) in &found.entries {
            let entry = match heard.remove(at) {
                Some(heard) => heard,
                None => from_bytes(log, entry)?,
            };
            read.push((*at, entry));
        }
        tail.add(read, found.next.max(end), before);
        Ok(())
    }

    /// Returns the messages of a watched inbox that this handle knows and the record does not have, if
    /// the wanted ones are known and few are read in the log: then an acknowledgement leaves them there.
    pub(super) fn known_sent(
        &self,
        name: &MemberName,
        inbox: Option<&InboxValue>,
        wanted: &[MessageId],
    ) -> Option<Sent> {
        let log = values::sent(name).key;
        let read = inbox.map_or(0, |inbox| inbox.read.len());
        let is_read = self.seen.rings(&log).is_some();
        if !is_read || wanted.is_empty() || read + wanted.len() > READ_IN_LOG {
            return None;
        }
        let tail = self.seen.tail(name);
        let known = tail.lock().entries.clone();
        let stored = inbox.iter().flat_map(|inbox| &inbox.entries);
        let ids: HashSet<&MessageId> = stored
            .chain(known.iter().map(|(_, entry)| entry))
            .filter_map(|entry| entry.msg_id.as_ref())
            .collect();
        let has_all = wanted.iter().all(|id| ids.contains(id));
        has_all.then_some(known)
    }

    /// Returns the messages in the log that the record does not have.
    pub(super) fn sent_since(&self, name: &MemberName, inbox: Option<&InboxValue>) -> Result<Sent> {
        let log = values::sent(name).key;
        let Some(before) = self.seen.rings(&log) else {
            return self.sent(name, inbox.map_or(0, |inbox| inbox.next));
        };
        let tail = self.seen.tail(name);
        let mut tail = tail.lock();
        self.read_on(&log, &mut tail, before)?;
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
