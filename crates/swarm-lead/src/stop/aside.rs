//! Changes to a team while members of it are ended. The lock they need may be held by the very process that is to be ended, so
//! they wait on a thread of their own, and deadlines and the ends of other members go on beside them.

use std::sync::Arc;

use swarm_store::{StoreError, TeamStore};

use crate::LeadError;

/// Runs `work` on a thread that may block. Once begun, it goes on when nobody waits for it.
///
/// # Errors
/// Whatever the store says; [`LeadError::BrokeDown`] when the thread did not come to its end.
pub(super) async fn aside<T: Send + 'static>(
    store: &Arc<dyn TeamStore>,
    work: impl FnOnce(&dyn TeamStore) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, LeadError> {
    let store = Arc::clone(store);
    match tokio::task::spawn_blocking(move || work(&*store)).await {
        Ok(done) => Ok(done?),
        Err(error) => Err(LeadError::BrokeDown(error.to_string())),
    }
}
