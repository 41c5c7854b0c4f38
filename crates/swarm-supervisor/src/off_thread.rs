//! Changes of team files from code that must not block: they wait for the disk, and for locks that others hold, be it the very process
//! that is to be ended. Deadlines, and what is done for other members, go on beside them.

use std::sync::Arc;

use swarm_store::StoreError;
use swarm_store::blocking::Team;

use crate::LeadError;

/// Runs a change on a thread of its own. Once begun, it goes on when nobody waits for it.
///
/// # Errors
/// What the change returns, and [`LeadError::BrokeDown`] when the thread did not come to its end.
pub(crate) async fn off_thread<T: Send + 'static>(
    team: &Arc<dyn Team>,
    change: impl FnOnce(&dyn Team) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, LeadError> {
    let team = Arc::clone(team);
    match tokio::task::spawn_blocking(move || change(&*team)).await {
        Ok(done) => Ok(done?),
        Err(error) => Err(LeadError::BrokeDown(error.to_string())),
    }
}
