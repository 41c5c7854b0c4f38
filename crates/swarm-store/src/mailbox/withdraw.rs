//! Taking a message back that its receiver will never read.

use swarm_fs::Held;
use swarm_protocol::{MemberName, MessageId};

use super::file::InboxFile;
use crate::Result;
use crate::team_files::TeamFiles;

impl TeamFiles<'_> {
    /// Takes one message out of an inbox whose lock is held. With `made_for_it` the file goes with its last entry.
    pub(crate) fn withdraw(
        &self,
        held: &Held,
        name: &MemberName,
        id: Option<&MessageId>,
        made_for_it: bool,
    ) -> Result<()> {
        let mut inbox = InboxFile::open(self, name, held)?;
        let before = inbox.slots.len();
        inbox
            .slots
            .retain(|slot| id.is_none() || slot.entry().msg_id.as_ref() != id);
        if inbox.slots.is_empty() && made_for_it {
            return Ok(held.remove(inbox.path())?);
        }
        if inbox.slots.len() < before {
            inbox.write(self, name, held)?;
        }
        Ok(())
    }
}
