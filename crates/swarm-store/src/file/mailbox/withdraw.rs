//! Removing a message that its receiver will never read.

use swarm_os::LockGuard;
use swarm_protocol::{MemberName, MessageId};

use super::inbox_file::InboxFile;
use crate::Result;
use crate::file::team::FileTeam;

impl FileTeam {
    /// Takes one message out of an inbox whose lock is held. With `created_for_it`, the file is
    /// deleted with its last entry.
    pub(crate) fn remove_message(
        &self,
        held: &LockGuard,
        name: &MemberName,
        id: Option<&MessageId>,
        created_for_it: bool,
    ) -> Result<()> {
        let mut inbox = InboxFile::open(self, name, held)?;
        let withdrawn = match id {
            Some(id) => inbox.take_out(true, |entry| entry.msg_id.as_ref() == Some(id))?,
            None => Vec::new(),
        };
        if inbox.slots.is_empty() && created_for_it {
            return Ok(held.remove(inbox.path())?);
        }
        if !withdrawn.is_empty() {
            inbox.write(self, name, held)?;
        }
        Ok(())
    }
}
