//! Rules of large values and published branches.

use std::collections::BTreeMap;

use swarm_protocol::{BlobRef, MemberName, PublishedBranch};

use crate::{Result, StoreError, StoreLimits};

/// The published branches of a team.
pub(crate) type Branches = BTreeMap<MemberName, PublishedBranch>;

/// Publishes a branch. Returns the bundle that is not needed any more.
pub(crate) fn publish(branches: &mut Branches, branch: &PublishedBranch) -> Option<BlobRef> {
    let before = branches.insert(branch.member.clone(), branch.clone());
    let unused = before.and_then(|before| before.bundle);
    unused.filter(|unused| branch.bundle.as_ref() != Some(unused))
}

/// Refuses a large value above the limit.
pub(crate) fn refuse_too_large(content: &[u8], limits: &StoreLimits) -> Result<()> {
    let (bytes, limit) = (content.len() as u64, limits.max_blob_bytes);
    if bytes > limit {
        return Err(StoreError::BlobTooLarge { bytes, limit });
    }
    Ok(())
}
