//! Changes of team files from code that must not block: they wait for locks that others hold, and for the disk.

use std::sync::Arc;

use swarm_protocol::MemberName;
use swarm_store::{StoreError, TeamStore};

use crate::LeadError;

/// Runs a change for the sake of a member on a thread of its own, so that other spawns go on meanwhile.
///
/// # Errors
/// What the change returns, and [`LeadError::Interrupted`] when it broke down.
pub(crate) async fn off_thread<T: Send + 'static>(
    store: &Arc<dyn TeamStore>,
    member: &MemberName,
    change: impl FnOnce(&dyn TeamStore) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, LeadError> {
    let store = Arc::clone(store);
    match tokio::task::spawn_blocking(move || change(&*store)).await {
        Ok(done) => Ok(done?),
        Err(error) => {
            tracing::error!(%member, %error, "a change of team files broke down");
            Err(LeadError::Interrupted(member.clone()))
        }
    }
}
