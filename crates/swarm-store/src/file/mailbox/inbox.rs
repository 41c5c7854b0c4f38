//! The operations on an inbox.

use std::collections::HashSet;
use std::path::Path;

use swarm_os::{PendingSync, SyncHandle};
use swarm_protocol::{
    Event, InboxEntry, MemberName, MessageId, OutlinedInbox, count_unread, parse_inbox,
    parse_repaired,
};

use super::inbox_file::{BadInbox, InboxFile};
use super::quiet::Stamp;
use crate::file::team::{FileTeam, is_there};
use crate::mailbox::refuse_if_read_by_program;
use crate::{BrokenFile, Draft, Inbox, Posted, Result, StoreError};

impl FileTeam {
    pub(crate) fn post(&self, to: &MemberName, draft: Draft) -> Result<Posted> {
        self.require_member(to)?;
        self.store.limits.refuse_if_too_large(to, &draft)?;
        let id = draft.message_id();
        let open = || self.open_journal();
        let put = self.with_inbox_lock_after(to, open, |held, journal| {
            self.hand_over(held, journal, to, draft, id)
        })?;
        // Without the lock: the receiver is already woken, and several senders wait for the disk
        // together.
        put.placed.sync()?;
        Ok(put.posted)
    }

    pub(crate) fn post_all(&self, letters: &[(MemberName, Draft)]) -> Result<Vec<Result<Posted>>> {
        let config = self.config()?;
        let handed_over = swarm_os::in_parallel(letters, |(to, draft)| {
            self.member_of(&config, to)?;
            self.store.limits.refuse_if_too_large(to, draft)?;
            let id = draft.message_id();
            let open = || self.open_journal();
            self.with_inbox_lock_after(to, open, |held, journal| {
                self.hand_over(held, journal, to, draft.clone(), id)
            })
        });
        let mut pending = PendingSync::default();
        let mut outcomes = Vec::with_capacity(letters.len());
        for outcome in handed_over {
            outcomes.push(outcome.map(|put| {
                pending = std::mem::take(&mut pending).and(put.placed);
                put.posted
            }));
        }
        let sync_handle = SyncHandle::from(pending);
        let settled = |posted| Ok(sync_handle.wait().map(|()| posted)?);
        Ok(outcomes
            .into_iter()
            .map(|outcome| outcome.and_then(settled))
            .collect())
    }

    pub(crate) fn inbox(&self, name: &MemberName) -> Result<Inbox> {
        self.require_inbox(name)?;
        match self.read_inbox(name)? {
            Ok(inbox) => Ok(inbox),
            // Another program may be writing in place, so this may be a partial write. Read again
            // under the lock.
            Err(_) => self.inbox_at_rest(name),
        }
    }

    pub(crate) fn inbox_at_rest(&self, name: &MemberName) -> Result<Inbox> {
        self.require_inbox(name)?;
        Ok(self.with_inbox_lock(name, |_held| self.read_inbox(name))??)
    }

    pub(crate) fn archived_mail(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
        self.require_inbox(name)?;
        let bytes = swarm_os::read_optional(&self.at.mail_archive(name))?.unwrap_or_default();
        // A killed writer leaves a partial line; its entry is still in the inbox.
        let lines = bytes.split(|byte| *byte == b'\n');
        let entries = lines.filter_map(|line| serde_json::from_slice(line).ok());
        Ok(entries.collect())
    }

    pub(crate) fn take_unread(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
        self.require_inbox(name)?;
        if let Some(unread) = self.read_unread(name)? {
            return Ok(unread);
        }
        self.with_inbox_lock(name, |held| {
            let mut inbox = InboxFile::open(self, name, held)?;
            let named = inbox.edit_unread(|entry| {
                let nameless = entry.msg_id.is_none();
                if nameless {
                    entry.msg_id = Some(MessageId::random());
                }
                nameless
            })?;
            let unread: Result<_> = inbox.unread().map(|slot| inbox.entry(slot)).collect();
            if named > 0 {
                inbox.write(self, name, held)?;
            }
            unread
        })
    }

    pub(crate) fn ack(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>> {
        self.ack_after(name, ids, || (), |(), _| Ok(()))
    }

    pub(crate) fn ack_on_behalf(
        &self,
        name: &MemberName,
        ids: &[MessageId],
    ) -> Result<Vec<MessageId>> {
        // Checked with the inbox locked: a member is alive before it first reads its inbox, and is
        // in the roster before its prompt is in the inbox.
        self.ack_after(
            name,
            ids,
            || (),
            |(), _| refuse_if_read_by_program(&self.read_config()?, name, || self.liveness(name)),
        )
    }

    pub(crate) fn delivered(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>> {
        let open = || self.open_journal();
        self.ack_after(name, ids, open, |journal, unread| {
            // Not synced: after a power failure, the event is recorded again when the message is
            // delivered again.
            let _pending = self.enter_into(
                journal,
                unread.iter().map(|msg_id| Event::Delivered {
                    msg_id: msg_id.clone(),
                    to: name.clone(),
                }),
            )?;
            Ok(())
        })
    }
}

impl FileTeam {
    fn read_inbox(&self, name: &MemberName) -> Result<Result<Inbox, BadInbox>> {
        let path = self.at.inbox(name);
        let bytes = swarm_os::read_optional(&path)?.unwrap_or_default();
        Ok(match parse_inbox(&bytes) {
            Ok(parsed) => Ok(Inbox {
                entries: parsed.entries,
                malformed: parsed.malformed,
            }),
            Err(error) => Err(BadInbox {
                path,
                reason: error.to_string(),
            }),
        })
    }

    /// Returns the number of unread messages, and the file if it is damaged. The number is `None`
    /// if the file cannot be read, because a view of the team must not fail on it.
    pub(crate) fn count_unread(&self, name: &MemberName) -> (Option<usize>, Option<BrokenFile>) {
        let path = self.at.inbox(name);
        let bytes = match swarm_os::read_optional(&path) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(_) => return (None, None),
        };
        if let Ok(count) = count_unread(&bytes) {
            return (Some(count), None);
        }
        // As in `inbox`: read again under the lock.
        match self.inbox_at_rest(name) {
            Ok(inbox) => (Some(inbox.unread().count()), None),
            Err(StoreError::Damaged { path, reason }) => (None, Some(BrokenFile { path, reason })),
            Err(_) => (None, None),
        }
    }

    /// Accepts members, and former members whose inbox is still there.
    pub(super) fn require_inbox(&self, name: &MemberName) -> Result<()> {
        if is_there(&self.at.inbox(name)) {
            return Ok(());
        }
        self.require_member(name)
    }

    /// Reads the unread entries without the lock; `None` if something must be written first. Taking
    /// a lock wakes every watcher of the directory and is rarely needed: a file that is being
    /// written in place is not yet a valid array.
    fn read_unread(&self, name: &MemberName) -> Result<Option<Vec<InboxEntry>>> {
        let path = self.at.inbox(name);
        let stamp = Stamp::of(&path);
        if stamp.is_some() && stamp == self.store.quiet.stamp_of(&path) {
            return Ok(Some(Vec::new()));
        }
        let unread = self.unread_in(&path)?;
        let is_quiet = unread.as_ref().is_some_and(Vec::is_empty);
        self.store.quiet.note(path, stamp.filter(|_| is_quiet));
        Ok(unread.filter(|unread| unread.iter().all(|entry| entry.msg_id.is_some())))
    }

    /// The unread entries of an inbox; `None` if elements are malformed or the file is not an
    /// array.
    fn unread_in(&self, path: &Path) -> Result<Option<Vec<InboxEntry>>> {
        let bytes = swarm_os::read_optional(path)?.unwrap_or_default();
        let earlier = self.store.last_inbox.take(path);
        match OutlinedInbox::find(bytes, earlier) {
            Ok(found) => {
                let unread: Result<_, serde_json::Error> =
                    found.unread().map(parse_repaired).collect();
                self.store.last_inbox.keep(path.to_owned(), found);
                Ok(unread.ok())
            }
            Err(bytes) => {
                let seen = parse_inbox(&bytes).ok();
                let whole = seen.filter(|seen| seen.malformed.is_empty());
                let entries = whole.map(|seen| seen.entries.into_iter());
                Ok(entries.map(|entries| entries.filter(|entry| !entry.read).collect()))
            }
        }
    }

    /// Passes the unread entries among `ids` to `first`, then marks them read; returns their IDs.
    /// `prepare` runs before the wait for the lock.
    ///
    /// The mark may not be on disk yet. If a power failure makes a message unread again, the reader
    /// recognises its ID in the transcript and only marks it again.
    fn ack_after<P>(
        &self,
        name: &MemberName,
        ids: &[MessageId],
        prepare: impl FnOnce() -> P,
        first: impl FnOnce(P, &[MessageId]) -> Result<()>,
    ) -> Result<Vec<MessageId>> {
        self.require_inbox(name)?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let wanted: HashSet<&MessageId> = ids.iter().collect();
        let (acked, _pending) = self.with_inbox_lock_after(name, prepare, |held, prepared| {
            let mut inbox = InboxFile::open(self, name, held)?;
            let mut acked = Vec::new();
            inbox.edit_unread(|entry| {
                let Some(id) = entry.msg_id.as_ref().filter(|id| wanted.contains(id)) else {
                    return false;
                };
                if !acked.contains(id) {
                    acked.push(id.clone());
                }
                entry.read = true;
                true
            })?;
            if acked.is_empty() {
                return Ok((acked, PendingSync::default()));
            }
            first(prepared, &acked)?;
            let placed = inbox.place(self, name, held)?;
            Ok((acked, placed))
        })?;
        Ok(acked)
    }
}
