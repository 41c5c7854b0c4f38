//! Limits the size of an inbox, because the time of a send is proportional to it.

use swarm_os::LockGuard;
use swarm_protocol::MemberName;

use super::file::InboxFile;
use crate::file_team::{FileTeam, refuse_linked_directory};
use crate::{Result, record};

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
        let surplus = self.surplus(files.store.limits.keep_acked, files.store.limits.keep_bytes);
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

    /// Returns how many of the oldest acknowledged entries to archive: none within the limits,
    /// otherwise enough to free half of the limit. Archiving one by one would add a write to each
    /// message.
    fn surplus(&self, keep_acked: usize, keep_bytes: usize) -> usize {
        let mut kept = self.acked().count();
        let mut size = self.size();
        if kept <= keep_acked && size <= keep_bytes {
            return 0;
        }
        let (keep_acked, keep_bytes) = (keep_acked / 2, keep_bytes / 2);
        let mut surplus = 0;
        for slot in self.acked() {
            if kept <= keep_acked && size <= keep_bytes {
                break;
            }
            kept -= 1;
            size -= slot.size();
            surplus += 1;
        }
        surplus
    }

    fn acked(&self) -> impl Iterator<Item = &super::file::Slot> {
        self.slots.iter().filter(|slot| slot.read)
    }
}
