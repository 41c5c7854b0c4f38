//! Reading what waits, for delivery.

use std::path::Path;

use swarm_protocol::{InboxEntry, MemberName, MessageId, OutlinedInbox, parse_inbox, parse_mended};

use super::file::InboxFile;
use super::quiet::Stamp;
use crate::Result;
use crate::team_files::TeamFiles;

impl TeamFiles<'_> {
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

    /// What a look without the lock finds in a whole inbox; `None` where something has to be written first. A lock is
    /// something that all others who watch the folder see come and go, and nearly no look needs one: whoever writes in place
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
        let bytes = swarm_fs::read_optional(path)?.unwrap_or_default();
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
}
