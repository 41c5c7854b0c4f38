//! Large values (`swarm/blobs`) and published branches (`swarm/branches.json`) of a team in files.

use swarm_protocol::{BlobRef, MemberName, PublishedBranch};
use uuid::Uuid;

use crate::Result;
use crate::exchange::{Branches, note_merged, publish, refuse_too_large};
use crate::file::record;
use crate::file::team::FileTeam;

impl FileTeam {
    pub(crate) fn put_blob(&self, content: &[u8]) -> Result<BlobRef> {
        refuse_too_large(content, &self.store.limits)?;
        let blob = BlobRef {
            id: Uuid::new_v4(),
            bytes: content.len() as u64,
        };
        self.with_roster_lock(|_held| {
            Ok(swarm_os::replace_in_private_dir(
                &self.at.blob(&blob),
                content,
            )?)
        })?;
        Ok(blob)
    }

    pub(crate) fn blob(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>> {
        let content = swarm_os::read_optional(&self.at.blob(blob))?;
        if content.is_none() && !self.exists() {
            return Err(self.not_found());
        }
        Ok(content)
    }

    pub(crate) fn delete_blob(&self, blob: &BlobRef) -> Result<()> {
        let path = self.at.blob(blob);
        self.with_roster_lock(|held| Ok(held.remove(&path)?))
    }

    pub(crate) fn publish_branch(&self, branch: &PublishedBranch) -> Result<()> {
        let unused = self.with_roster_lock(|_held| {
            let path = self.at.branches();
            let mut branches: Branches = self.read_own(&path)?.unwrap_or_default();
            let unused = publish(&mut branches, branch);
            self.store.lock_options.begin_change(&path)?;
            swarm_os::replace_alone(&path, &record::pretty(&path, &branches)?)?;
            Ok(unused)
        })?;
        unused.map_or(Ok(()), |unused| self.delete_blob(&unused))
    }

    pub(crate) fn note_merged(&self, member: &MemberName, commit: &str) -> Result<()> {
        self.with_roster_lock(|_held| {
            let path = self.at.branches();
            let mut branches: Branches = self.read_own(&path)?.unwrap_or_default();
            if note_merged(&mut branches, member, commit) {
                self.store.lock_options.begin_change(&path)?;
                swarm_os::replace_alone(&path, &record::pretty(&path, &branches)?)?;
            }
            Ok(())
        })
    }

    pub(crate) fn published_branches(&self) -> Result<Vec<PublishedBranch>> {
        let branches: Branches = self.read_own(&self.at.branches())?.unwrap_or_default();
        Ok(branches.into_values().collect())
    }
}
