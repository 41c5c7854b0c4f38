//! Putting a message into an inbox.

use serde_json::Value;
use swarm_fs::Held;
use swarm_protocol::{Event, InboxEntry, MarkKind, MemberName, MessageId, UnixMs};

use super::Draft;
use super::file::InboxFile;
use crate::team_files::TeamFiles;
use crate::{Result, StoreError};

impl Draft {
    fn into_entry(self, id: MessageId, now: UnixMs) -> InboxEntry {
        let mut entry = InboxEntry::new(self.from, self.text, now.iso());
        entry.msg_id = Some(id);
        entry.summary = self.summary;
        entry.color = self.color;
        // Even an empty mark: an entry without one is taken for another program's, whose text may be a control frame.
        entry.swarm = Some(self.swarm);
        entry
    }
}

impl TeamFiles<'_> {
    pub(crate) fn send(&self, to: &MemberName, draft: Draft) -> Result<MessageId> {
        self.require_member(to)?;
        let id = MessageId::random();
        self.with_inbox_lock(to, |held| self.deliver(held, to, draft, id.clone()))?;
        Ok(id)
    }

    /// Puts a message into an inbox whose lock is held. The event is entered before the lock is let go, so that
    /// no other event of this message can come before it.
    pub(crate) fn deliver(
        &self,
        held: &Held,
        to: &MemberName,
        draft: Draft,
        id: MessageId,
    ) -> Result<()> {
        let mut inbox = InboxFile::open(self, to, held)?;
        let entry = draft.into_entry(id.clone(), self.now());
        supersede(&mut inbox, &entry);
        self.refuse_if_full(&inbox, to, &entry)?;
        let queued = Event::Queued {
            msg_id: id,
            from: entry.from.clone(),
            to: to.clone(),
            summary: entry.summary.clone(),
            frame: frame_type(&entry),
        };
        inbox.push(entry)?;
        inbox.write(self, to, held)?;
        self.record(queued)
    }

    fn refuse_if_full(&self, inbox: &InboxFile, to: &MemberName, entry: &InboxEntry) -> Result<()> {
        let unread = inbox.unread().count();
        let limit = self.store.limits.max_unread;
        if unread < limit || entry.is_marked_control() {
            return Ok(());
        }
        Err(StoreError::InboxFull {
            name: to.clone(),
            unread,
            limit,
        })
    }
}

/// Takes out what the new entry makes pointless.
fn supersede(inbox: &mut InboxFile, entry: &InboxEntry) {
    let key = |entry: &InboxEntry| entry.swarm.as_ref().and_then(|mark| mark.supersede.clone());
    let Some(wanted) = key(entry) else { return };
    inbox.slots.retain(|slot| {
        let old = slot.entry();
        old.read || old.from != entry.from || key(old).as_ref() != Some(&wanted)
    });
}

/// The `type` of a control frame.
fn frame_type(entry: &InboxEntry) -> Option<String> {
    if entry.swarm.as_ref()?.kind != Some(MarkKind::Control) {
        return None;
    }
    let frame: Value = serde_json::from_str(&entry.text).ok()?;
    frame.get("type")?.as_str().map(str::to_owned)
}
