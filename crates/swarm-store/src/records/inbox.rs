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
use crate::mailbox::replaces;
use crate::{Result, StoreLimits};

/// Messages with their positions in the log.
pub(super) type Sent = Vec<(u64, InboxEntry)>;

/// Most messages that are read and stay in the log: moving them into the record takes more requests
/// than an acknowledgement.
const READ_IN_LOG: usize = 32;

impl RecordsTeam {
    /// Returns the inbox with the messages that are not in its record. The log is read first, because
    /// messages leave it only when the record has them.
    pub(super) fn inbox_if_any(&self, name: &MemberName) -> Result<Option<InboxValue>> {
        let sent = self.sent(name, 0)?;
        let mut inbox = self.read(&values::inbox(name))?;
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
        let heard = if let Some(heard) = self.entries_heard(&log, &tail, before)? {
            heard
        } else {
            self.read_on(&log, &mut tail, before)?;
            Vec::new()
        };
        let mut inbox = self.read_watched(&values::inbox(name))?;
        if let Some(inbox) = &inbox {
            tail.drop_until(inbox.next);
        }
        fold(&mut inbox, tail.entries.iter().cloned().chain(heard));
        Ok(inbox)
    }

    /// Returns what was heard and not read; `None` if it may have to be read. An announcement may be
    /// lost, so nothing leaves the log because of it.
    fn entries_heard(&self, log: &Key, tail: &Tail, now: Rings) -> Result<Option<Sent>> {
        if tail.has_missed(now) {
            return Ok(None);
        }
        let heard = self.space.heard_entries(log, tail.end);
        if self
            .seen
            .rings(log)
            .is_none_or(|rings| tail.has_missed(rings))
        {
            return Ok(None);
        }
        let newest = heard.last().map_or(tail.end, |(at, _)| *at);
        if newest < now.newest {
            return Ok(None);
        }
        let heard = heard.iter();
        let heard = heard.map(|(at, entry)| Ok((*at, from_bytes(log, entry)?)));
        heard.collect::<Result<_>>().map(Some)
    }

    /// Reads the entries that the log has got since.
    fn read_on(&self, log: &Key, tail: &mut Tail, before: Rings) -> Result<()> {
        loop {
            let from = tail.end;
            let found = self.answered(false, |at_most| self.space.entries(log, from, at_most))?;
            if (1..from).contains(&found.end) {
                // The log of another team of this name.
                *tail = Tail::default();
                continue;
            }
            let read = found.entries.iter();
            let read = read.map(|(next, entry)| Ok((*next, from_bytes(log, entry)?)));
            tail.add(&found, read.collect::<Result<Vec<_>>>()?, before);
            return Ok(());
        }
    }

    /// Returns the messages of a watched inbox that this handle knows and the record does not have, if
    /// the wanted ones are known and few are read in the log: then an acknowledgement leaves them there.
    pub(super) fn known_sent(
        &self,
        name: &MemberName,
        inbox: Option<&InboxValue>,
        wanted: &[MessageId],
    ) -> Result<Option<Sent>> {
        let log = values::sent(name).key;
        let read = inbox.map_or(0, |inbox| inbox.read.len());
        let is_read = self.seen.rings(&log).is_some();
        if !is_read || wanted.is_empty() || read + wanted.len() > READ_IN_LOG {
            return Ok(None);
        }
        let tail = self.seen.tail(name);
        let tail = tail.lock();
        let mut known = tail.entries.clone();
        for (at, entry) in self.space.heard_entries(&log, tail.end) {
            known.push((at, from_bytes(&log, &entry)?));
        }
        let stored = inbox.iter().flat_map(|inbox| &inbox.entries);
        let ids: HashSet<&MessageId> = stored
            .chain(known.iter().map(|(_, entry)| entry))
            .filter_map(|entry| entry.msg_id.as_ref())
            .collect();
        let has_all = wanted.iter().all(|id| ids.contains(id));
        Ok(has_all.then_some(known))
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

    fn sent(&self, name: &MemberName, from: u64) -> Result<Sent> {
        let log = values::sent(name).key;
        let found = self.answered(false, |at_most| self.space.entries(&log, from, at_most))?;
        let entries = found.entries.into_iter();
        entries
            .map(|(next, entry)| Ok((next, from_bytes(&log, &entry)?)))
            .collect()
    }
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
    for (next, mut entry) in sent {
        if next > inbox.next {
            let is_read = |id: &MessageId| inbox.read.remove(id);
            entry.read |= entry.msg_id.as_ref().is_some_and(is_read);
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
