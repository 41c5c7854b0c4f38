//! Leases of members.

use std::fmt::Debug;
use std::future::pending;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::Result;
use crate::lease_term::LeaseTerm;

/// A member's lease, such as the lock on its life file. Keep it until the process exits: dropping
/// it releases the lease, and the member counts as dead.
#[derive(Debug)]
pub struct Lease {
    held: Box<dyn Held>,
}

/// What a kind of store holds for a lease; released when dropped.
pub(crate) trait Held: Debug + Send + Sync {
    /// Returns how long the lease lasts, for a kind in which it can be lost.
    fn term(&self) -> Option<&Arc<LeaseTerm>> {
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
    /// future does not keep the lease. A process that was frozen finds the end by its clock as soon as
    /// the task that awaits this continues.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let ended = self.held.term().map(LeaseTerm::ended);
        async move {
            match ended {
                Some(ended) => ended.await,
                None => pending().await,
            }
        }
    }

    /// Returns whether the lease is lost, as [`Self::lost`] tells.
    pub fn is_lost(&self) -> bool {
        self.held.term().is_some_and(|term| term.is_over())
    }
}

/// Resolves when a lease is released.
pub type LeaseEnd = oneshot::Receiver<Result<()>>;
