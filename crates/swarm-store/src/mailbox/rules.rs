//! Which messages an inbox accepts, and what a message changes. No I/O.

use serde_json::Value;
use swarm_os::Liveness;
use swarm_protocol::{Event, InboxEntry, MarkKind, MemberName, MessageId, TeamConfig, UnixMs};

use super::Draft;
use crate::{Result, StoreError, StoreLimits};

impl Draft {
    /// Returns its ID, or a new one.
    pub(crate) fn message_id(&self) -> MessageId {
        self.id.clone().unwrap_or_else(MessageId::random)
    }

    pub(crate) fn into_entry(self, id: MessageId, now: UnixMs) -> InboxEntry {
        let mut entry = InboxEntry::with_id(id, self.from, self.text, now.iso());
        entry.summary = self.summary;
        entry.color = self.color;
        // Even an empty mark is written: an entry without one counts as another program's, whose
        // text may be a control frame.
        entry.swarm = Some(self.swarm);
        entry
    }
}

/// Refuses acknowledgements on behalf of a member whose own program reads its mail.
pub(crate) fn refuse_if_read_by_program(
    config: &TeamConfig,
    name: &MemberName,
    life: impl FnOnce() -> Result<Liveness>,
) -> Result<()> {
    let mark = config.member(name).and_then(|member| member.swarm.as_ref());
    let is_starting = mark.is_some_and(|mark| mark.reservation.is_some());
    if is_starting || life()? == Liveness::Alive {
        return Err(StoreError::ReadByProgram(name.clone()));
    }
    Ok(())
}

impl StoreLimits {
    pub(crate) fn refuse_if_too_large(&self, to: &MemberName, draft: &Draft) -> Result<()> {
        let (bytes, limit) = (draft.text.len(), self.max_message_bytes);
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

    /// Rejects an entry for an inbox with this many unread entries.
    pub(crate) fn refuse_if_full(
        &self,
        unread: usize,
        to: &MemberName,
        entry: &InboxEntry,
    ) -> Result<()> {
        let limit = self.max_unread;
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

    /// Returns how many of the oldest acknowledged entries to archive, given their sizes and the
    /// size of the whole inbox in bytes: none within the limits, otherwise enough to free half of
    /// the limit. Archiving one by one would add a write to each message.
    pub(crate) fn surplus(&self, acked: &[usize], mut size: usize) -> usize {
        let mut kept = acked.len();
        if kept <= self.keep_acked && size <= self.keep_bytes {
            return 0;
        }
        let (keep_acked, keep_bytes) = (self.keep_acked / 2, self.keep_bytes / 2);
        let mut surplus = 0;
        for bytes in acked {
            if kept <= keep_acked && size <= keep_bytes {
                break;
            }
            kept -= 1;
            size -= bytes;
            surplus += 1;
        }
        surplus
    }
}

/// Returns whether an entry replaces others.
pub(crate) fn replaces_others(new: &InboxEntry) -> bool {
    let mark = new.swarm.as_ref();
    mark.is_some_and(|mark| mark.supersede.is_some())
}

/// Returns whether `new` replaces the unread entry `old`.
pub(crate) fn replaces(new: &InboxEntry, old: &InboxEntry) -> bool {
    let key = |entry: &InboxEntry| entry.swarm.as_ref().and_then(|mark| mark.supersede.clone());
    old.from == new.from && key(new).is_some() && key(new) == key(old)
}

/// Returns the journal event of a message.
pub(crate) fn queued(
    to: &MemberName,
    entry: &InboxEntry,
    msg_id: MessageId,
    superseded: Vec<MessageId>,
) -> Event {
    Event::Queued {
        msg_id,
        from: entry.from.clone(),
        to: to.clone(),
        summary: entry.summary.clone(),
        frame: frame_type(entry),
        kind: entry.swarm.as_ref().and_then(|mark| mark.kind),
        superseded,
    }
}

/// The `type` of a control frame.
fn frame_type(entry: &InboxEntry) -> Option<String> {
    if entry.swarm.as_ref()?.kind != Some(MarkKind::Control) {
        return None;
    }
    let frame: Value = serde_json::from_str(&entry.text).ok()?;
    frame.get("type")?.as_str().map(str::to_owned)
}
