//! Limits the size of an inbox, because the time of a send is proportional to it.

use swarm_os::LockGuard;
use swarm_protocol::MemberName;

use super::inbox_file::{InboxFile, Slot};
use crate::Result;
use crate::file::record;
use crate::file::team::{FileTeam, refuse_linked_directory};

impl InboxFile {
    /// Moves the oldest acknowledged entries to the archive until the file is within its bounds.
    /// They are archived before the caller writes the file without them: if killed in between, they
    /// are in both.
    pub(super) fn prune(
        &mut self,
        files: &FileTeam,
        name: &MemberName,
        held: &LockGuard,
    ) -> Result<()> {
        let acked: Vec<usize> = self.acked().map(Slot::size).collect();
        let surplus = files.store.limits.surplus(&acked, self.size());
        if surplus == 0 {
            return Ok(());
        }
        let archive = files.at.mail_archive(name);
        let mut lines = Vec::new();
        for slot in self.acked().take(surplus) {
            lines.extend(record::line(&archive, &self.entry(slot)?)?);
            lines.push(b'\n');
        }
        refuse_linked_directory(&archive)?;
        held.append(&archive, &lines)?;
        let mut left = surplus;
        self.slots.retain(|slot| {
            let goes = slot.read && left > 0;
            left -= usize::from(goes);
            !goes
        });
        Ok(())
    }

    fn acked(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.read)
    }
}
