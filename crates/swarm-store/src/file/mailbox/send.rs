//! Sending messages to inboxes.

use swarm_os::{Appendable, LockGuard, PendingSync};
use swarm_protocol::{InboxEntry, MemberName, MessageId};

use super::inbox_file::InboxFile;
use crate::file::team::FileTeam;
use crate::mailbox::{queued, replaces};
use crate::{Draft, Posted, Result};

/// A message in an inbox. Its line in the journal is not awaited: the message is in the inbox even if
/// a power failure loses the line.
pub(super) struct Put {
    pub(super) posted: Posted,
    /// The inbox, which may not be on disk yet.
    pub(super) placed: PendingSync,
}

impl FileTeam {
    /// Puts a message into an inbox whose lock is held; the wait for the disk is left to the
    /// caller.
    pub(crate) fn deliver(
        &self,
        held: &LockGuard,
        to: &MemberName,
        draft: Draft,
        msg_id: MessageId,
    ) -> Result<PendingSync> {
        Ok(self.hand_over(held, None, to, draft, msg_id)?.placed)
    }

    /// `journal` is the journal, if it is already open.
    pub(super) fn hand_over(
        &self,
        held: &LockGuard,
        journal: Option<Appendable>,
        to: &MemberName,
        draft: Draft,
        msg_id: MessageId,
    ) -> Result<Put> {
        let inbox = InboxFile::open(self, to, held)?;
        let entry = draft.into_entry(msg_id, self.now());
        let unread = inbox.unread().count();
        self.store.limits.refuse_if_full(unread, to, &entry)?;
        self.put(held, journal, to, inbox, &entry, Ok)
    }

    /// Puts a message into an inbox unless one with this id is there, even if the inbox is full.
    /// Waits for the disk before the line in the journal, which then proves that the message was sent,
    /// even after it has left the inbox.
    pub(crate) fn deliver_once(
        &self,
        held: &LockGuard,
        to: &MemberName,
        entry: &InboxEntry,
    ) -> Result<()> {
        let inbox = InboxFile::open(self, to, held)?;
        if inbox.has(entry.msg_id.as_ref())? {
            return Ok(());
        }
        self.put(held, None, to, inbox, entry, |placed| {
            placed.sync()?;
            Ok(PendingSync::default())
        })
        .map(drop)
    }

    /// Calls `then` between the inbox and the journal. The event is entered before the lock is
    /// released, so that no other event of this message can precede it.
    fn put(
        &self,
        held: &LockGuard,
        journal: Option<Appendable>,
        to: &MemberName,
        mut inbox: InboxFile,
        entry: &InboxEntry,
        then: impl FnOnce(PendingSync) -> Result<PendingSync>,
    ) -> Result<Put> {
        let msg_id = entry.msg_id.clone().unwrap_or_else(MessageId::random);
        let superseded = supersede(&mut inbox, entry)?;
        let queued = queued(to, entry, msg_id.clone(), superseded.clone());
        let quarantine = inbox.quarantine.clone();
        inbox.push(entry)?;
        let placed = then(inbox.place(self, to, held)?)?;
        let _left_to_the_kernel = self.enter_done_into(journal, [queued]);
        let posted = Posted {
            msg_id,
            superseded,
            quarantine,
        };
        Ok(Put { posted, placed })
    }
}

/// Removes the entries that the new one replaces; returns their IDs.
fn supersede(inbox: &mut InboxFile, entry: &InboxEntry) -> Result<Vec<MessageId>> {
    // Most messages replace nothing; the others need not be parsed then.
    if entry
        .swarm
        .as_ref()
        .is_none_or(|mark| mark.supersede.is_none())
    {
        return Ok(Vec::new());
    }
    let taken = inbox.take_out(false, |old| replaces(entry, old))?;
    Ok(taken.into_iter().filter_map(|old| old.msg_id).collect())
}
