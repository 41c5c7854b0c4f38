//! Reading what waits, for delivery.

use swarm_protocol::{InboxEntry, MemberName, MessageId, parse_inbox};

use super::file::InboxFile;
use super::quiet::Stamp;
use crate::Result;
use crate::team_files::TeamFiles;

impl TeamFiles<'_> {
    pub(crate) fn take_unread(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
        self.require_inbox(name)?;
        if self.has_nothing_new(name)? {
            return Ok(Vec::new());
        }
        self.with_inbox_lock(name, |held| {
            let mut inbox = InboxFile::open(self, name, held)?;
            let named = inbox.edit(|entry| {
                let nameless = !entry.read && entry.msg_id.is_none();
                if nameless {
                    entry.msg_id = Some(MessageId::random());
                }
                nameless
            })?;
            let unread = inbox.unread().cloned().collect();
            if named > 0 {
                inbox.write(self, name, held)?;
            }
            Ok(unread)
        })
    }

    /// Whether a look without the lock finds a whole inbox in which everything is read. Most looks do, and a lock is
    /// something that all others who watch the folder see come and go.
    fn has_nothing_new(&self, name: &MemberName) -> Result<bool> {
        let path = self.at.inbox(name);
        let stamp = Stamp::of(&path);
        if stamp.is_some() && stamp == self.store.quiet.stamp_of(&path) {
            return Ok(true);
        }
        let bytes = swarm_fs::read_optional(&path)?.unwrap_or_default();
        let seen = parse_inbox(&bytes).ok();
        let is_quiet = seen.is_some_and(|seen| {
            seen.malformed.is_empty() && seen.entries.iter().all(|entry| entry.read)
        });
        self.store.quiet.note(path, stamp.filter(|_| is_quiet));
        Ok(is_quiet)
    }
}
