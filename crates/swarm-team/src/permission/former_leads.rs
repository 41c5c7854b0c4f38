//! Requests of leads that have ended, for which nobody waits.

use swarm_os::Liveness;
use swarm_protocol::{Event, MemberName, RequestRecord, RequestState};
use swarm_store::process::is_dead;
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
            // On a hub, the lease of a process that was killed lasts on.
            (!is_dead(&life)).then_some(life.spawn_id)
        }
        Liveness::Foreign => return Ok(()),
    };
    for request in asked.iter().filter(|asked| asked.spawn_id != running) {
        if request.state != RequestState::Open {
            end_answered(team, request).await?;
            continue;
        }
        match team.withdraw_request(&request.id, Some(LEAD_ENDED)).await {
            // If it was answered meanwhile, the next look ends it.
            Ok(_) | Err(StoreError::RequestNotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Removes a request whose answer nobody has read.
async fn end_answered(team: &dyn Team, request: &RequestRecord) -> Result<(), StoreError> {
    let ignored = Event::AnswerIgnored {
        request: request.id.clone(),
        member: request.from.clone(),
        reason: LEAD_ENDED.to_owned(),
    };
    team.journal(ignored).await?;
    team.close_request(&request.id).await
}
