//! Rules of large values and published branches.

use std::collections::BTreeMap;

use swarm_protocol::{BlobRef, MemberName, PublishedBranch};

use crate::{Result, StoreError, StoreLimits};

/// The published branches of a team.
pub(crate) type Branches = BTreeMap<MemberName, PublishedBranch>;

/// Publishes a branch. Returns the bundle that is not needed any more. What was merged remains as it
/// is noted: a publisher may have read it before the note.
pub(crate) fn publish(branches: &mut Branches, branch: &PublishedBranch) -> Option<BlobRef> {
    let before = branches.remove(&branch.member);
    let mut new = branch.clone();
    new.merged = before.as_ref().and_then(|before| before.merged.clone());
    branches.insert(branch.member.clone(), new);
    let unused = before.and_then(|before| before.bundle);
    unused.filter(|unused| branch.bundle.as_ref() != Some(unused))
}

/// Notes that a commit of a member's work was merged. Returns whether that is new.
pub(crate) fn note_merged(branches: &mut Branches, member: &MemberName, commit: &str) -> bool {
    let Some(branch) = branches.get_mut(member) else {
        return false;
    };
    branch.merged.replace(commit.to_owned()).as_deref() != Some(commit)
}

/// Refuses a large value above the limit.
pub(crate) fn refuse_too_large(content: &[u8], limits: &StoreLimits) -> Result<()> {
    let (bytes, limit) = (content.len() as u64, limits.max_blob_bytes);
    if bytes > limit {
        return Err(StoreError::BlobTooLarge { bytes, limit });
    }
    Ok(())
}
