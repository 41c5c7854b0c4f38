//! The operations on an inbox.

use std::collections::HashSet;
use std::path::Path;

use swarm_os::{Liveness, PendingSync, SyncHandle};
use swarm_protocol::{
    Event, InboxEntry, MemberName, MessageId, OutlinedInbox, count_unread, parse_inbox,
    parse_mended,
};

use super::file::{BadInbox, InboxFile};
use super::quiet::Stamp;
use super::{Draft, Inbox, Posted};
use crate::file_team::{FileTeam, is_there};
use crate::{BrokenFile, Result, StoreError};

impl FileTeam {
    pub(crate) fn post(&self, to: &MemberName, draft: Draft) -> Result<Posted> {
        self.require_member(to)?;
        self.refuse_if_too_large(to, &draft)?;
        let id = MessageId::random();
        let put = self.with_inbox_lock(to, |held| self.hand_over(held, to, draft, id))?;
        // Without the lock: the receiver is awake already, and several senders wait for the disk together. Nobody waits for
        // the line in the journal: the message is in the inbox, whatever a power cut takes from the journal.
        put.placed.sync()?;
        Ok(put.posted)
    }

    pub(crate) fn post_all(&self, letters: &[(MemberName, Draft)]) -> Result<Vec<Result<Posted>>> {
        let config = self.config()?;
        let handed_over = swarm_os::in_parallel(letters, |(to, draft)| {
            self.member_of(&config, to)?;
            self.refuse_if_too_large(to, draft)?;
            let id = MessageId::random();
            self.with_inbox_lock(to, |held| self.hand_over(held, to, draft.clone(), id))
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
        match self.look_into(name)? {
            Ok(inbox) => Ok(inbox),
            // Another program writes in place: what was seen may be half of something. Under the lock nobody writes.
            Err(_) => self.inbox_at_rest(name),
        }
    }

    pub(crate) fn inbox_at_rest(&self, name: &MemberName) -> Result<Inbox> {
        self.require_inbox(name)?;
        Ok(self.with_inbox_lock(name, |_held| self.look_into(name))??)
    }

    pub(crate) fn archived_mail(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
        self.require_inbox(name)?;
        let bytes = swarm_os::read_optional(&self.at.mail_archive(name))?.unwrap_or_default();
        // A writer that was killed leaves half a line, and has then left its entry in the inbox.
        let lines = bytes.split(|byte| *byte == b'\n');
        let entries = lines.filter_map(|line| serde_json::from_slice(line).ok());
        Ok(entries.collect())
    }

    pub(crate) fn take_unread(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
        self.require_inbox(name)?;
        if let Some(unread) = self.look_for_unread(name)? {
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
        self.ack_after(name, ids, |_| Ok(()))
    }

    pub(crate) fn ack_by_hand(
        &self,
        name: &MemberName,
        ids: &[MessageId],
    ) -> Result<Vec<MessageId>> {
        // Asked while the inbox is locked: a program lives before it reads its inbox for the first time, and it is in
        // the roster before its prompt is in the inbox.
        self.ack_after(name, ids, |_| self.refuse_if_read_by_program(name))
    }

    pub(crate) fn delivered(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>> {
        self.ack_after(name, ids, |unread| {
            // On disk some time: what a power cut undoes is entered again when the message comes again.
            let _pending = self.enter(unread.iter().map(|msg_id| Event::Delivered {
                msg_id: msg_id.clone(),
                to: name.clone(),
            }))?;
            Ok(())
        })
    }
}

impl FileTeam {
    fn look_into(&self, name: &MemberName) -> Result<Result<Inbox, BadInbox>> {
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

    /// How many messages wait; `None` where the file cannot be read, because a view of the team must not fail on it, and
    /// the file where that is damaged.
    pub(crate) fn count_unread(&self, name: &MemberName) -> (Option<usize>, Option<BrokenFile>) {
        let path = self.at.inbox(name);
        let bytes = match swarm_os::read_optional(&path) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(_) => return (None, None),
        };
        if let Ok(count) = count_unread(&bytes) {
            return (Some(count), None);
        }
        // As in `inbox`: under the lock nobody writes.
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

    /// What a look without the lock finds in a whole inbox; `None` where something has to be written first. A lock is
    /// something that all others who watch the directory see come and go, and nearly no look needs one: whoever writes in place
    /// is seen by a file that is no array yet.
    fn look_for_unread(&self, name: &MemberName) -> Result<Option<Vec<InboxEntry>>> {
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

    /// The unread entries of an inbox; `None` where elements of it are no entries, or the file is no array.
    fn unread_in(&self, path: &Path) -> Result<Option<Vec<InboxEntry>>> {
        let bytes = swarm_os::read_optional(path)?.unwrap_or_default();
        let earlier = self.store.last_inbox.take(path);
        match OutlinedInbox::find(bytes, earlier) {
            Ok(found) => {
                let unread: Result<_, serde_json::Error> =
                    found.unread().map(parse_mended).collect();
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

    fn refuse_if_read_by_program(&self, name: &MemberName) -> Result<()> {
        let config = self.read_config()?;
        let mark = config.member(name).and_then(|member| member.swarm.as_ref());
        let is_starting = mark.is_some_and(|mark| mark.reservation.is_some());
        if is_starting || self.liveness(name)? == Liveness::Alive {
            return Err(StoreError::ReadByProgram { name: name.clone() });
        }
        Ok(())
    }

    /// Marks those of the entries read that are not, once `first` has been told which they are; returns their ids.
    ///
    /// The file's content is on disk, the mark perhaps not yet: a message that a power cut makes unread again is known by
    /// its id to whoever has it in a transcript, and is only marked again.
    fn ack_after(
        &self,
        name: &MemberName,
        ids: &[MessageId],
        first: impl FnOnce(&[MessageId]) -> Result<()>,
    ) -> Result<Vec<MessageId>> {
        self.require_inbox(name)?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let wanted: HashSet<&MessageId> = ids.iter().collect();
        let (acked, _pending) = self.with_inbox_lock(name, |held| {
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
            first(&acked)?;
            let placed = inbox.place(self, name, held)?;
            Ok((acked, placed))
        })?;
        Ok(acked)
    }
}
