//! Reading what waits, for delivery.

use swarm_protocol::{InboxEntry, MemberName, MessageId};

use super::file::InboxFile;
use crate::Result;
use crate::team_files::TeamFiles;

impl TeamFiles<'_> {
    pub(crate) fn take_unread(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
        self.require_inbox(name)?;
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
}
