//! Requests of leads that have ended, for which nobody waits.

use swarm_os::Liveness;
use swarm_protocol::{MemberName, RequestRecord, RequestState};
use swarm_store::process::is_dead;
use swarm_store::{RequestList, StoreError, Team};

/// Why the requests of such a lead are withdrawn.
const LEAD_ENDED: &str = "its lead has ended";

/// Why their answers are ignored. A lead that was killed may have read the answer before.
const MAYBE_UNUSED: &str = "its lead has ended; it may not have used the answer";

/// Removes the requests of leads that have ended from the queue, so that no person approves a call
/// that nobody makes. Returns the others.
///
/// # Errors
/// Errors of the store.
pub async fn end_requests_of_former_leads(team: &dyn Team) -> Result<RequestList, StoreError> {
    let mut list = team.requests().await?;
    if !list.requests.iter().any(is_of_lead) {
        return Ok(list);
    }
    // After the queue: a lead has its lease before it asks.
    let lead = MemberName::lead();
    let running = match team.lease(&lead).await? {
        Liveness::Dead => None,
        Liveness::Alive => {
            let Some(life) = team.life_record(&lead).await else {
                return Ok(list);
            };
            // On a hub, the lease of a process that was killed lasts on.
            (!is_dead(&life)).then_some(life.spawn_id)
        }
        Liveness::Foreign => return Ok(list),
    };
    let is_former = |asked: &RequestRecord| is_of_lead(asked) && asked.spawn_id != running;
    for request in list.requests.iter().filter(|asked| is_former(asked)) {
        let ended = if request.state == RequestState::Open {
            team.withdraw_request(&request.id, Some(LEAD_ENDED)).await
        } else {
            team.ignore_answer(&request.id, MAYBE_UNUSED).await
        };
        match ended {
            // If it was answered meanwhile, the next look ends it.
            Ok(_) | Err(StoreError::RequestNotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    list.requests.retain(|asked| !is_former(asked));
    Ok(list)
}

/// Returns whether a lead of swarm asks. Requests of members that swarm does not run have no spawn,
/// and arrive by mail.
fn is_of_lead(asked: &RequestRecord) -> bool {
    asked.from.is_lead() && asked.spawn_id.is_some()
}
