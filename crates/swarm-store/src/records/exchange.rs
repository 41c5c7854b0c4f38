//! Large values and published branches of a team in records.

use swarm_protocol::{BlobRef, MemberName, PublishedBranch, UnixMs};
use uuid::Uuid;

use super::key::Key;
use super::team::RecordsTeam;
use super::values;
use crate::exchange::{note_merged, publish, refuse_too_large};
use crate::{Result, StoreError};

/// Most bytes of a part of a large value, which is a record: one request on a slow link.
const PART: usize = 256 << 10;

impl RecordsTeam {
    /// Stores the parts, each with the whole deadline: on a slow link, all take longer. The value is
    /// recorded first, so that it is found if this process is killed.
    pub(super) fn put_blob(&self, content: &[u8]) -> Result<BlobRef> {
        self.require()?;
        refuse_too_large(content, &self.limits)?;
        let blob = BlobRef {
            id: Uuid::new_v4(),
            bytes: content.len() as u64,
        };
        let now = self.server_time()?;
        if let Err(error) = self.delete_unnamed_blobs(now) {
            tracing::warn!(%error, "unused large values are left");
        }
        self.change(&values::blobs(), |blobs, _events| {
            blobs.push((blob, now));
            Ok(())
        })?;
        let largest = self.answered(false, |at_most| self.space.largest(at_most))?;
        let mut parts = content.chunks(largest.clamp(1, PART)).enumerate();
        let stored = parts.try_for_each(|(number, part)| {
            self.refuse_interrupted()?;
            self.called(false).put_part(&part_of(&blob, number), part)
        });
        if let Err(error) = stored {
            if let Err(error) = self.called(false).delete_blob(&blob) {
                tracing::warn!(%error, "parts of a large value are left");
            }
            return Err(error);
        }
        Ok(blob)
    }

    fn put_part(&self, key: &Key, part: &[u8]) -> Result<()> {
        let mut is_repetition = false;
        // No other process writes this key: after a conflict, an earlier attempt may have written it.
        while self.write(key, 0, part, is_repetition)?.is_none() {
            if self.read_part(key)?.is_some() {
                break;
            }
            is_repetition = true;
        }
        Ok(())
    }

    pub(super) fn blob(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>> {
        self.require()?;
        let mut content = Vec::new();
        let mut number = 0;
        while (content.len() as u64) < blob.bytes {
            self.refuse_interrupted()?;
            match self.called(false).read_part(&part_of(blob, number))? {
                Some(part) => content.extend(part),
                None => return Ok(None),
            }
            number += 1;
        }
        Ok(Some(content))
    }

    fn read_part(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        let found = self.answered(false, |at_most| self.space.read(key, at_most))?;
        Ok(found.map(|stored| stored.value))
    }

    pub(super) fn delete_blob(&self, blob: &BlobRef) -> Result<()> {
        self.may_write(false)?;
        let parts = Key::new(format!("blob.{}", blob.id));
        self.answered(true, |at_most| self.space.remove(&parts, at_most))?;
        self.change(&values::blobs(), |blobs, outbox| {
            let before = blobs.len();
            blobs.retain(|(known, _)| known != blob);
            outbox.changes_nothing = blobs.len() == before;
            Ok(())
        })
    }

    /// Deletes old values that no branch names: those who would have used them were killed.
    fn delete_unnamed_blobs(&self, now: UnixMs) -> Result<()> {
        let keep = self.limits.keep_unnamed_blobs.as_millis();
        let mut old = self.read(&values::blobs())?;
        old.retain(|(_, since)| u128::from(now.since(*since)) >= keep);
        if old.is_empty() {
            return Ok(());
        }
        let branches = self.read(&values::branches())?;
        let is_named =
            |blob: &BlobRef| branches.values().any(|branch| branch.bundle == Some(*blob));
        old.iter()
            .filter(|(blob, _)| !is_named(blob))
            .try_for_each(|(blob, _)| self.delete_blob(blob))
    }

    pub(super) fn publish_branch(&self, branch: &PublishedBranch) -> Result<()> {
        self.require()?;
        let unused = self.change(&values::branches(), |branches, _events| {
            Ok(publish(branches, branch))
        })?;
        if let Some(unused) = unused
            && let Err(error) = self.delete_blob(&unused)
        {
            tracing::warn!(%error, "a replaced bundle is left");
        }
        Ok(())
    }

    pub(super) fn note_merged(&self, member: &MemberName, commit: &str) -> Result<()> {
        self.require()?;
        self.change(&values::branches(), |branches, outbox| {
            outbox.changes_nothing = !note_merged(branches, member, commit);
            Ok(())
        })
    }

    pub(super) fn published_branches(&self) -> Result<Vec<PublishedBranch>> {
        self.require()?;
        Ok(self.read(&values::branches())?.into_values().collect())
    }

    fn refuse_interrupted(&self) -> Result<()> {
        if !self.patience.interrupt.is_set() {
            return Ok(());
        }
        let (team, waited) = (self.team.clone(), std::time::Duration::ZERO);
        Err(StoreError::Contended { team, waited })
    }
}

fn part_of(blob: &BlobRef, number: usize) -> Key {
    Key::new(format!("blob.{}.{number}", blob.id))
}
