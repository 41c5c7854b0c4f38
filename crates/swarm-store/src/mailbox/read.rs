//! Looking into an inbox without changing it.

use swarm_protocol::{MemberName, parse_inbox};

use super::Inbox;
use super::file::BadInbox;
use crate::Result;
use crate::team_files::{TeamFiles, is_there};

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

    /// How many messages wait; `None` where the file cannot be read, because a view of the team must not fail on it.
    pub(crate) fn count_unread(&self, name: &MemberName) -> Option<usize> {
        if !is_there(&self.at.inbox(name)) {
            return Some(0);
        }
        let inbox = self.inbox(name).ok()?;
        Some(inbox.unread().count())
    }

    /// Accepts members, and former members whose inbox is still there.
    pub(super) fn require_inbox(&self, name: &MemberName) -> Result<()> {
        if is_there(&self.at.inbox(name)) {
            return Ok(());
        }
        self.require_member(name)
    }
}
