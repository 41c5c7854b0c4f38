//! Waiting for several things at once.

use crate::failure::Failure;

/// A runtime for a command that waits on several things.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?)
}
