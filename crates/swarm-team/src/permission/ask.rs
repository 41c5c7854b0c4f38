//! The member's half: the request into the queue, and the wait for its answer.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use swarm_protocol::{
    Answer, AnsweredBy, ControlFrame, MemberName, PermissionRequestFrame, PermissionResponse,
    RequestId, RequestKind, RequestRecord, RequestState, TeamName, UnixMs, input_digest,
};
use swarm_store::StoreError;
use tokio_util::sync::CancellationToken;

use super::answer::answer_frame;
use super::{AskedCall, PermissionAnswer};
use crate::{Incoming, Seat, sort_mail};

/// Puts the request into the queue and tells the lead.
///
/// # Errors
/// Whatever the store says; nothing waits in the queue then.
pub fn open_request(
    seat: &Seat,
    team: &TeamName,
    call: &AskedCall,
    timeout: Duration,
) -> Result<RequestId, StoreError> {
    let now = seat.clock.now();
    let id = RequestId::permission(now.0);
    let timeout = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    let suggestions: Vec<_> = call.suggestions.iter().map(|grant| json!(grant)).collect();
    seat.store.open_request(
        team,
        RequestRecord {
            id: id.clone(),
            from: seat.name.clone(),
            spawn_id: seat.spawn_id,
            request: RequestKind::Permission {
                tool: call.tool.clone(),
                tool_use_id: call.tool_use_id.clone(),
                input: call.input.clone(),
                digest: input_digest(&call.tool, &call.input),
                suggestions: suggestions.clone(),
            },
            description: call.description.clone(),
            asked_at: now,
            deadline: UnixMs(now.0.saturating_add(timeout)),
            state: RequestState::Open,
        },
    )?;
    if !seat.is_lead() {
        let frame = ControlFrame::PermissionRequest(PermissionRequestFrame {
            request_id: id.clone(),
            agent_id: seat.name.to_string(),
            tool_name: call.tool.clone(),
            tool_use_id: call.tool_use_id.clone(),
            description: call.description.clone(),
            input: call.input.clone(),
            permission_suggestions: suggestions,
        });
        let draft = seat.control(&frame).urgent();
        if let Err(error) = seat.store.send(team, &MemberName::lead(), draft) {
            withdraw(seat, team, &id)?;
            return Err(error);
        }
    }
    Ok(id)
}

/// Wakes when something may have happened to the member's mail or to the queue of requests. Spurious wakes are fine.
#[async_trait]
pub trait Wake: Send {
    /// Resolves at the next change.
    async fn changed(&mut self);
}

/// Waits for the answer to a request that was opened. The record is the truth; a response that came by mail counts if
/// it is the first, since a lead of another program knows nothing of our records. Silence until `timeout` means no, and
/// when `cancel` falls the question is withdrawn.
///
/// # Errors
/// Whatever the store says.
pub async fn wait_for_answer(
    seat: &Seat,
    team: &TeamName,
    id: &RequestId,
    call: &AskedCall,
    wake: &mut dyn Wake,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Result<PermissionAnswer, StoreError> {
    let deadline = tokio::time::Instant::now() + timeout;
    loop {
        if let Some(answer) = answered(seat, team, id, call)? {
            return Ok(answer);
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                withdraw(seat, team, id)?;
                return Ok(PermissionAnswer::Denied("the turn was interrupted".to_owned()));
            }
            () = tokio::time::sleep_until(deadline) => {
                // Somebody may answer in this very moment; whoever settles the record first wins.
                settle(seat, team, id, Answer::Expired, AnsweredBy::system())?;
            }
            () = wake.changed() => {}
        }
    }
}

/// The answer, if there is one by now. The request leaves the queue with it.
fn answered(
    seat: &Seat,
    team: &TeamName,
    id: &RequestId,
    call: &AskedCall,
) -> Result<Option<PermissionAnswer>, StoreError> {
    let mut record = seat.store.request(team, id)?;
    if let Some(response) = mailed(seat, team, id)?
        && record.state == RequestState::Open
    {
        let answer = PermissionAnswer::of(&response, call);
        if settle(seat, team, id, answer.for_the_record(), AnsweredBy::lead())? {
            seat.store.close_request(team, id)?;
            return Ok(Some(answer));
        }
        record = seat.store.request(team, id)?;
    }
    let Some(ControlFrame::PermissionResponse(response)) = answer_frame(&record) else {
        return Ok(None);
    };
    seat.store.close_request(team, id)?;
    Ok(Some(PermissionAnswer::of(&response, call)))
}

/// Enters an answer; tells whether it was the first.
fn settle(
    seat: &Seat,
    team: &TeamName,
    id: &RequestId,
    answer: Answer,
    by: AnsweredBy,
) -> Result<bool, StoreError> {
    match seat.store.answer_request(team, id, answer, by) {
        Ok(_) => Ok(true),
        Err(StoreError::RequestAnswered { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes a question back that nobody waits for any more, so that no person answers it in vain.
fn withdraw(seat: &Seat, team: &TeamName, id: &RequestId) -> Result<(), StoreError> {
    settle(seat, team, id, Answer::Expired, AnsweredBy::system())?;
    seat.store.close_request(team, id)
}

/// The answer that came by mail, which is acknowledged by that. A lead's own mail is its desk's.
fn mailed(
    seat: &Seat,
    team: &TeamName,
    id: &RequestId,
) -> Result<Option<PermissionResponse>, StoreError> {
    if seat.is_lead() {
        return Ok(None);
    }
    for incoming in sort_mail(seat.store.take_unread(team, &seat.name)?) {
        let Incoming::PermissionResponse(entry, response) = incoming else {
            continue;
        };
        if &response.request_id != id {
            continue;
        }
        if let Some(msg_id) = entry.msg_id {
            seat.store.ack(team, &seat.name, &[msg_id])?;
        }
        return Ok(Some(response));
    }
    Ok(None)
}
