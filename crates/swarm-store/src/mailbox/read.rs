//! Looking into an inbox without changing it.

use swarm_protocol::{InboxEntry, MemberName, count_unread, parse_inbox};

use super::Inbox;
use super::file::BadInbox;
use crate::team_files::{TeamFiles, is_there};
use crate::{BrokenFile, Result, StoreError};

impl TeamFiles<'_> {
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

    fn look_into(&self, name: &MemberName) -> Result<Result<Inbox, BadInbox>> {
        let path = self.at.inbox(name);
        let bytes = swarm_fs::read_optional(&path)?.unwrap_or_default();
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

    pub(crate) fn archived_mail(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
        self.require_inbox(name)?;
        let bytes = swarm_fs::read_optional(&self.at.mail_archive(name))?.unwrap_or_default();
        // A writer that was killed leaves half a line, and has then left its entry in the inbox.
        let lines = bytes.split(|byte| *byte == b'\n');
        let entries = lines.filter_map(|line| serde_json::from_slice(line).ok());
        Ok(entries.collect())
    }

    /// How many messages wait; `None` where the file cannot be read, because a view of the team must not fail on it, and
    /// the file where that is damaged.
    pub(crate) fn count_unread(&self, name: &MemberName) -> (Option<usize>, Option<BrokenFile>) {
        let path = self.at.inbox(name);
        let bytes = match swarm_fs::read_optional(&path) {
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
}
