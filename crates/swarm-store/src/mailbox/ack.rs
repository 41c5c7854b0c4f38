//! Acknowledging messages.

use std::collections::HashSet;

use swarm_fs::{Liveness, PendingSync};
use swarm_protocol::{Event, MemberName, MessageId};

use super::file::InboxFile;
use crate::team_files::TeamFiles;
use crate::{Result, StoreError};

impl TeamFiles<'_> {
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

    fn refuse_if_read_by_program(&self, name: &MemberName) -> Result<()> {
        let config = self.read_config()?;
        let mark = config.member(name).and_then(|member| member.swarm.as_ref());
        let is_starting = mark.is_some_and(|mark| mark.reservation.is_some());
        if is_starting || self.liveness(name)? == Liveness::Alive {
            return Err(StoreError::ReadByProgram { name: name.clone() });
        }
        Ok(())
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
