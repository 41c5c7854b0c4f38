//! Sending messages to inboxes.

use serde_json::Value;
use swarm_os::{LockGuard, PendingSync};
use swarm_protocol::{Event, InboxEntry, MarkKind, MemberName, MessageId, UnixMs};

use super::file::InboxFile;
use super::{Draft, Posted};
use crate::file_team::FileTeam;
use crate::{Result, StoreError};

impl Draft {
    pub(super) fn into_entry(self, id: MessageId, now: UnixMs) -> InboxEntry {
        let mut entry = InboxEntry::new(self.from, self.text, now.iso());
        entry.msg_id = Some(id);
        entry.summary = self.summary;
        entry.color = self.color;
        // Even an empty mark is written: an entry without one counts as another program's, whose
        // text may be a control frame.
        entry.swarm = Some(self.swarm);
        entry
    }
}

/// A message in an inbox, and the writes that are not on disk yet.
pub(super) struct Put {
    pub(super) posted: Posted,
    /// The inbox.
    pub(super) placed: PendingSync,
    /// The line in the journal.
    entered: PendingSync,
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
        let put = self.hand_over(held, to, draft, msg_id)?;
        Ok(put.placed.and(put.entered))
    }

    pub(super) fn hand_over(
        &self,
        held: &LockGuard,
        to: &MemberName,
        draft: Draft,
        msg_id: MessageId,
    ) -> Result<Put> {
        let inbox = InboxFile::open(self, to, held)?;
        let entry = draft.into_entry(msg_id, self.now());
        self.refuse_if_full(&inbox, to, &entry)?;
        self.put(held, to, inbox, &entry)
    }

    /// Puts a message into an inbox unless one with this id is there, even if the inbox is full.
    /// Waits for the journal: its line tells later calls that the message was sent, even after it
    /// has left the inbox.
    pub(crate) fn deliver_once(
        &self,
        held: &LockGuard,
        to: &MemberName,
        draft: Draft,
        msg_id: MessageId,
    ) -> Result<()> {
        let inbox = InboxFile::open(self, to, held)?;
        if inbox.has(&msg_id)? {
            return Ok(());
        }
        let entry = draft.into_entry(msg_id, self.now());
        let put = self.put(held, to, inbox, &entry)?;
        Ok(put.placed.and(put.entered).sync()?)
    }

    /// The event is entered before the lock is released, so that no other event of this message can
    /// precede it.
    fn put(
        &self,
        held: &LockGuard,
        to: &MemberName,
        mut inbox: InboxFile,
        entry: &InboxEntry,
    ) -> Result<Put> {
        let msg_id = entry.msg_id.clone().unwrap_or_else(MessageId::random);
        let superseded = supersede(&mut inbox, entry)?;
        let queued = Event::Queued {
            msg_id: msg_id.clone(),
            from: entry.from.clone(),
            to: to.clone(),
            summary: entry.summary.clone(),
            frame: frame_type(entry),
            kind: entry.swarm.as_ref().and_then(|mark| mark.kind),
            superseded: superseded.clone(),
        };
        let quarantine = inbox.quarantine.clone();
        inbox.push(entry)?;
        let placed = inbox.place(self, to, held)?;
        let entered = self.enter_done([queued]);
        let posted = Posted {
            msg_id,
            superseded,
            quarantine,
        };
        Ok(Put {
            posted,
            placed,
            entered,
        })
    }

    pub(super) fn refuse_if_too_large(&self, to: &MemberName, draft: &Draft) -> Result<()> {
        let (bytes, limit) = (draft.text.len(), self.store.limits.max_message_bytes);
        let by_program = matches!(draft.swarm.kind, Some(MarkKind::Control | MarkKind::System));
        if bytes <= limit || by_program {
            return Ok(());
        }
        Err(StoreError::MessageTooLarge {
            name: to.clone(),
            bytes,
            limit,
        })
    }

    fn refuse_if_full(&self, inbox: &InboxFile, to: &MemberName, entry: &InboxEntry) -> Result<()> {
        let unread = inbox.unread().count();
        let limit = self.store.limits.max_unread;
        let kind = entry.swarm.as_ref().and_then(|mark| mark.kind);
        let has_room = match kind {
            Some(MarkKind::Control) => true,
            // Messages about deaths and tasks are exempt: they are sent once and are important.
            Some(MarkKind::System) => unread < limit.saturating_mul(2),
            _ => unread < limit,
        };
        if has_room {
            return Ok(());
        }
        Err(StoreError::InboxFull {
            name: to.clone(),
            unread,
            limit,
        })
    }
}

/// Removes the entries that the new one replaces; returns their IDs.
fn supersede(inbox: &mut InboxFile, entry: &InboxEntry) -> Result<Vec<MessageId>> {
    let key = |entry: &InboxEntry| entry.swarm.as_ref().and_then(|mark| mark.supersede.clone());
    let Some(wanted) = key(entry) else {
        return Ok(Vec::new());
    };
    let taken = inbox.take_out(false, |old| {
        old.from == entry.from && key(old).as_ref() == Some(&wanted)
    })?;
    Ok(taken.into_iter().filter_map(|old| old.msg_id).collect())
}

/// The `type` of a control frame.
fn frame_type(entry: &InboxEntry) -> Option<String> {
    if entry.swarm.as_ref()?.kind != Some(MarkKind::Control) {
        return None;
    }
    let frame: Value = serde_json::from_str(&entry.text).ok()?;
    frame.get("type")?.as_str().map(str::to_owned)
}
