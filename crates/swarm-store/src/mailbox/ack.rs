//! Acknowledging messages.

use std::collections::HashSet;

use swarm_protocol::{MemberName, MessageId};

use super::file::InboxFile;
use crate::Result;
use crate::team_files::TeamFiles;

impl TeamFiles<'_> {
    pub(crate) fn ack(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>> {
        self.require_inbox(name)?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let wanted: HashSet<&MessageId> = ids.iter().collect();
        self.with_inbox_lock(name, |held| {
            let mut inbox = InboxFile::open(self, name, held)?;
            let mut acked = Vec::new();
            inbox.edit(|entry| {
                let Some(id) = entry.msg_id.as_ref().filter(|id| wanted.contains(id)) else {
                    return false;
                };
                if entry.read {
                    return false;
                }
                if !acked.contains(id) {
                    acked.push(id.clone());
                }
                entry.read = true;
                true
            })?;
            if !acked.is_empty() {
                inbox.write(self, name, held)?;
            }
            Ok(acked)
        })
    }
}
