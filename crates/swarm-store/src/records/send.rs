//! Sending to the inboxes of a team in records.

use swarm_protocol::{InboxEntry, JournalEntry, MemberName, MessageId};
use uuid::Uuid;

use super::seen::{FRESH, Reading};
use super::team::RecordsTeam;
use super::values;
use crate::mailbox::{queued, replaces_others};
use crate::roster::member_of;
use crate::{Draft, Posted, Result};

impl RecordsTeam {
    pub(super) fn post(&self, to: &MemberName, draft: Draft) -> Result<Posted> {
        self.require_recipient(to)?;
        self.limits.refuse_if_too_large(to, &draft)?;
        let id = draft.message_id();
        let entry = draft.into_entry(id.clone(), self.now());
        let superseded = self.send(to, &entry, &id)?;
        Ok(Posted {
            msg_id: id,
            superseded,
            quarantine: None,
        })
    }

    pub(super) fn post_all(&self, letters: &[(MemberName, Draft)]) -> Result<Vec<Result<Posted>>> {
        self.roster_seen()?;
        let outcomes = letters.iter();
        Ok(outcomes
            .map(|(to, draft)| self.post(to, draft.clone()))
            .collect())
    }

    /// Appends a message to the log of those that were sent, and its event; one that the log cannot have is
    /// put into the record. Returns the IDs of those that it replaces.
    fn send(&self, to: &MemberName, entry: &InboxEntry, id: &MessageId) -> Result<Vec<MessageId>> {
        let mail = values::sent(to).entry(Uuid::new_v4(), entry)?;
        let largest = self.answered(false, |at_most| self.space.largest(at_most))?;
        // In a log, the parts of a message that was not completed would remain, and so would those that
        // are replaced.
        if mail.2.len() > largest || replaces_others(entry) {
            return self.put(to, entry, |inbox| {
                self.refuse_if_full(inbox, to, entry).map(|()| true)
            });
        }
        self.refuse_if_seen_full(to, entry)?;
        self.may_write(false)?;
        let event = queued(to, entry, id.clone(), Vec::new());
        let event = JournalEntry {
            at: self.now(),
            event,
        };
        self.append(&[mail, values::journal().entry(Uuid::new_v4(), &event)?])?;
        self.observer.notify(&self.team, &event.event);
        Ok(Vec::new())
    }

    /// Accepts members. One that was removed is accepted until that is heard.
    fn require_recipient(&self, name: &MemberName) -> Result<()> {
        let seen = self.roster_seen()?;
        if member_of(&self.team, &seen, name).is_err() {
            // It may have joined since.
            member_of(&self.team, &self.config()?, name)?;
        }
        Ok(())
    }

    /// Refuses a message for a full inbox. Until it seems full, messages of other processes and
    /// acknowledgements count after some seconds.
    fn refuse_if_seen_full(&self, to: &MemberName, entry: &InboxEntry) -> Result<()> {
        let accepts = |unread| self.limits.refuse_if_full(unread, to, entry);
        let has_room = |unread| accepts(unread).is_ok();
        let at_most = |reading: &Reading<usize>| {
            let writes = usize::try_from(reading.writes_since()?).ok()?;
            Some(reading.value + writes)
        };
        let seen = self.seen.unread.lock().get(to).and_then(at_most);
        if has_room(seen.unwrap_or(usize::MAX)) {
            return Ok(());
        }
        let read = || self.unread_at_most(to, has_room);
        let heard = self.space.heard_here(&[values::sent(to).key]);
        let reading = Reading::new(heard, read)?;
        let unread = reading.value;
        self.seen.unread.lock().insert(to.clone(), reading);
        accepts(unread)
    }

    /// Returns the number of unread messages. If there is room for more, those that are not in the record
    /// are not read: there are no more of them than positions.
    fn unread_at_most(&self, to: &MemberName, has_room: impl Fn(usize) -> bool) -> Result<usize> {
        let inbox = self.read(&values::inbox(to))?.unwrap_or_default();
        let log = values::sent(to).key;
        let heard = self.space.heard_end();
        let end = match heard.filter(|(_, since)| since.elapsed() < FRESH) {
            Some((end, _)) => end,
            None => self.answered(false, |at_most| self.space.end(&log, at_most))?,
        };
        let in_log = usize::try_from(end.saturating_sub(inbox.next)).unwrap_or(usize::MAX);
        let at_most = in_log.saturating_add(inbox.count_unread());
        if has_room(at_most) {
            return Ok(at_most);
        }
        self.count_unread(to)
    }
}
