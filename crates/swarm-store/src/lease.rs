//! Leases of members.

use std::fmt::Debug;
use std::future::pending;

use tokio::sync::{oneshot, watch};

use crate::Result;

/// A member's lease, such as the lock on its life file. Keep it until the process exits: dropping
/// it releases the lease, and the member counts as dead.
#[derive(Debug)]
pub struct Lease {
    held: Box<dyn Held>,
}

/// What a kind of store holds for a lease; released when dropped.
pub(crate) trait Held: Debug + Send + Sync {
    /// Returns what becomes `true` when the lease is lost, for a kind in which that is possible.
    fn lost(&self) -> Option<watch::Receiver<bool>> {
        None
    }
}

impl Lease {
    pub(crate) fn new(held: Box<dyn Held>) -> Self {
        Self { held }
    }

    /// Resolves when the lease is lost although it was kept: another process counts the member as
    /// dead, and every change of this process is refused with
    /// [`StoreError::LeaseLost`](crate::StoreError::LeaseLost). A lock on a file is never lost. The
    /// future does not keep the lease.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let lost = self.held.lost();
        async move {
            if let Some(mut lost) = lost
                && lost.wait_for(|lost| *lost).await.is_ok()
            {
                return;
            }
            pending::<()>().await;
        }
    }

    /// Returns whether the lease is lost, as [`Self::lost`] tells.
    pub fn is_lost(&self) -> bool {
        self.held.lost().is_some_and(|lost| *lost.borrow())
    }
}

/// Resolves when a lease is released.
pub type LeaseEnd = oneshot::Receiver<Result<()>>;
