//! Reconciles a team's records from code that must not block: processes of a dead member get a
//! grace period before they are killed.

use std::sync::Arc;

use swarm_store::{ReconcileReport, StoreError, Team};
use tokio::task::{JoinError, JoinHandle};

/// A reconcile that runs on a separate thread.
pub type Reconciling = JoinHandle<Result<ReconcileReport, StoreError>>;

/// Starts a reconcile. It continues if the caller stops waiting.
pub fn begin_reconcile(team: &Arc<dyn Team>) -> Reconciling {
    let team = Arc::clone(team);
    tokio::task::spawn_blocking(move || swarm_team::reconcile(&team))
}

/// Returns the result of a finished reconcile.
///
/// # Errors
/// Returns an error if the store fails.
pub fn reconcile_outcome(
    ended: Result<Result<ReconcileReport, StoreError>, JoinError>,
) -> Result<ReconcileReport, StoreError> {
    ended.unwrap_or_else(|error| {
        tracing::error!(%error, "a reconcile failed");
        Ok(ReconcileReport::default())
    })
}

/// Starts a reconcile and waits for it.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn reconcile_team(team: &Arc<dyn Team>) -> Result<ReconcileReport, StoreError> {
    reconcile_outcome(begin_reconcile(team).await)
}
