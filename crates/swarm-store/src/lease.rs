//! Leases of members.

use std::fmt::Debug;

use tokio::sync::oneshot;

use crate::Result;

/// A member's lease, such as the lock on its life file. Keep it until the process exits: dropping
/// it releases the lease, and the member counts as dead.
#[derive(Debug)]
pub struct Lease {
    _held: Box<dyn Held>,
}

/// What a kind of store holds for a lease; released when dropped.
pub(crate) trait Held: Debug + Send + Sync {}

impl<T: Debug + Send + Sync> Held for T {}

impl Lease {
    pub(crate) fn new(held: impl Held + 'static) -> Self {
        Self {
            _held: Box::new(held),
        }
    }
}

/// Resolves when a lease is released.
pub type LeaseEnd = oneshot::Receiver<Result<()>>;
