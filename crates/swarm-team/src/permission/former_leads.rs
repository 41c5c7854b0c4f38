//! Requests of leads that have ended, for which nobody waits.

use swarm_os::Liveness;
use swarm_protocol::{MemberName, RequestRecord};
use swarm_store::{StoreError, Team};

/// Why the requests of such a lead are withdrawn.
const LEAD_ENDED: &str = "its lead has ended";

/// Removes the requests of leads that have ended from the queue, so that no person approves a call
/// that nobody makes.
///
/// # Errors
/// Errors of the store.
pub async fn end_requests_of_former_leads(team: &dyn Team) -> Result<(), StoreError> {
    // Those of members that swarm does not run have no spawn, and arrive by mail.
    let is_of_lead = |asked: &RequestRecord| asked.from.is_lead() && asked.spawn_id.is_some();
    let mut asked = team.requests().await?.requests;
    asked.retain(is_of_lead);
    if asked.is_empty() {
        return Ok(());
    }
    // After the queue: a lead has its lease before it asks.
    let lead = MemberName::lead();
    let running = match team.lease(&lead).await? {
        Liveness::Dead => None,
        Liveness::Alive => {
            let Some(life) = team.life_record(&lead).await else {
                return Ok(());
            };
            Some(life.spawn_id)
        }
        Liveness::Foreign => return Ok(()),
    };
    for request in asked.iter().filter(|asked| asked.spawn_id != running) {
        match team.withdraw_request(&request.id, Some(LEAD_ENDED)).await {
            // It was answered, and nobody reads the answer.
            Ok(false) => team.close_request(&request.id).await?,
            // Or the lead has ended it.
            Ok(true) | Err(StoreError::RequestNotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
