//! Bringing a team's records in line, from code that must not block: what a dead member left running gets a grace before
//! it is ended.

use std::sync::Arc;

use swarm_store::blocking::Team;
use swarm_store::{ReconcileReport, StoreError};
use tokio::task::{JoinError, JoinHandle};

/// A reconcile under way on a thread of its own.
pub type Reconciling = JoinHandle<Result<ReconcileReport, StoreError>>;

/// Begins one. It goes on when nobody waits for it.
pub fn begin_reconcile(team: &Arc<dyn Team>) -> Reconciling {
    let team = Arc::clone(team);
    tokio::task::spawn_blocking(move || swarm_team::reconcile(&*team))
}

/// What came of one that has ended.
///
/// # Errors
/// Whatever the store says.
pub fn reconcile_outcome(
    ended: Result<Result<ReconcileReport, StoreError>, JoinError>,
) -> Result<ReconcileReport, StoreError> {
    ended.unwrap_or_else(|error| {
        tracing::error!(%error, "a reconcile failed");
        Ok(ReconcileReport::default())
    })
}

/// Begins one and waits for it.
///
/// # Errors
/// Whatever the store says.
pub async fn reconcile_team(team: &Arc<dyn Team>) -> Result<ReconcileReport, StoreError> {
    reconcile_outcome(begin_reconcile(team).await)
}
