//! Permission between processes. A member whose call needs a yes puts a request into the team's queue and tells
//! the lead; a person answers; the answer is bound to the exact call. Silence means no.

use std::time::Duration;

use async_trait::async_trait;

use serde_json::Value;
use swarm_protocol::{
    Answer, ApprovedRequest, ControlFrame, LEAD_NAME, MemberName, PermissionRequestFrame,
    PermissionResponse, PermissionResult, RequestId, RequestKind, RequestRecord, RequestState,
    TeamName, UnixMs, input_digest,
};
use swarm_store::{Draft, StoreError, TeamStore};

use crate::{Incoming, Seat, sort_mail};

/// A call that waits for a yes.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedCall {
    /// The tool.
    pub tool: String,
    /// Id of the call in the model's message.
    pub tool_use_id: String,
    /// The exact input.
    pub input: Value,
    /// The call in one line.
    pub description: String,
    /// Grants that would save the next such question, in Claude Code's shape.
    pub suggestions: Vec<Value>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum PermissionAnswer {
    /// The call may be made, with this input, and with these grants for the session.
    Allowed {
        /// Replaces the call's input.
        updated_input: Option<Value>,
        /// Grants in Claude Code's shape.
        updates: Vec<Value>,
    },
    /// It may not; the model is told why.
    Denied(String),
}

/// The member's half: puts the request into the queue and tells the lead.
///
/// # Errors
/// Whatever the store says.
pub fn open_request(
    seat: &Seat,
    team: &TeamName,
    call: &AskedCall,
    timeout: Duration,
) -> Result<RequestId, StoreError> {
    let now = seat.clock.now();
    let id = RequestId::permission(now.0);
    let timeout = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
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
                suggestions: call.suggestions.clone(),
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
            permission_suggestions: call.suggestions.clone(),
        });
        seat.store
            .send(team, &MemberName::lead(), seat.control(&frame).urgent())?;
    }
    Ok(id)
}

/// A person says yes. Exactly one answer wins.
///
/// # Errors
/// Not found, or already answered.
pub fn approve(
    store: &dyn TeamStore,
    team: &TeamName,
    id: &RequestId,
    always: bool,
) -> Result<RequestRecord, StoreError> {
    settle(store, team, id, Answer::Approved { always })
}

/// A person says no.
///
/// # Errors
/// Not found, or already answered.
pub fn deny(
    store: &dyn TeamStore,
    team: &TeamName,
    id: &RequestId,
    why: Option<String>,
) -> Result<RequestRecord, StoreError> {
    settle(store, team, id, Answer::Denied { why })
}

fn settle(
    store: &dyn TeamStore,
    team: &TeamName,
    id: &RequestId,
    answer: Answer,
) -> Result<RequestRecord, StoreError> {
    let record = store.answer_request(team, id, answer)?;
    if let Some(frame) = answer_frame(&record) {
        let draft = Draft::control(LEAD_NAME, &frame).urgent();
        // The record already holds the answer and the asker reads it at its next look, so a member that has
        // left in the meantime is no failure of the answer.
        match store.send(team, &record.from, draft) {
            Ok(_) => {}
            Err(error) => tracing::debug!(request = %id, %error, "answer not mailed"),
        }
    }
    Ok(record)
}

/// The answer of a settled request as the frame that Claude Code's members understand.
pub fn answer_frame(record: &RequestRecord) -> Option<ControlFrame> {
    let RequestState::Answered { answer, .. } = &record.state else {
        return None;
    };
    let RequestKind::Permission {
        tool,
        tool_use_id,
        digest,
        suggestions,
        ..
    } = &record.request;
    let result = match answer {
        Answer::Approved { always } => {
            let updates = if *always {
                suggestions.clone()
            } else {
                Vec::new()
            };
            let response = serde_json::json!({ "permission_updates": updates });
            PermissionResult::Success {
                response: Some(response),
            }
        }
        Answer::Denied { why } => {
            let error = why
                .clone()
                .unwrap_or_else(|| "Permission denied by the user.".to_owned());
            PermissionResult::Error { error }
        }
        Answer::Expired => PermissionResult::Error {
            error: "Nobody answered the permission request in time, so the call was not made."
                .to_owned(),
        },
    };
    Some(ControlFrame::PermissionResponse(PermissionResponse {
        request_id: record.id.clone(),
        result,
        tool_use_id: Some(tool_use_id.clone()),
        approved_request: Some(ApprovedRequest {
            tool_use_id: tool_use_id.clone(),
            tool_name: tool.clone(),
            input_digest: digest.clone(),
        }),
    }))
}

impl PermissionAnswer {
    /// Reads a response as the answer to `call`. An approval that is bound to another call is a refusal; one that
    /// is bound to none comes from an older lead and counts.
    pub fn of(response: &PermissionResponse, call: &AskedCall) -> Self {
        match &response.result {
            PermissionResult::Error { error } => Self::Denied(error.clone()),
            PermissionResult::Success { response: content } => {
                let bound = response.approved_request.as_ref().is_none_or(|approved| {
                    approved.tool_name == call.tool
                        && approved.tool_use_id == call.tool_use_id
                        && approved.input_digest == input_digest(&call.tool, &call.input)
                });
                if !bound {
                    return Self::Denied(
                        "The approval was for another call, so this one was not made.".to_owned(),
                    );
                }
                let field = |name: &str| {
                    content
                        .as_ref()
                        .and_then(|content| content.get(name))
                        .cloned()
                };
                let updates = match field("permission_updates") {
                    Some(Value::Array(updates)) => updates,
                    _ => Vec::new(),
                };
                Self::Allowed {
                    updated_input: field("updated_input"),
                    updates,
                }
            }
        }
    }
}

/// Wakes when something may have happened to the member's mail or to the queue of requests. Spurious wakes are fine.
#[async_trait]
pub trait Wake: Send {
    /// Resolves at the next change.
    async fn changed(&mut self);
}

/// The member's other half: waits for the answer to a request it opened. The record is the truth; a response that
/// came by mail counts too, since a lead of another program knows nothing of our records.
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
) -> Result<PermissionAnswer, StoreError> {
    let deadline = tokio::time::Instant::now() + timeout;
    loop {
        if let Some(answer) = recorded(seat, team, id, call)? {
            return Ok(answer);
        }
        if let Some(answer) = mailed(seat, team, id, call)? {
            return Ok(answer);
        }
        tokio::select! {
            () = wake.changed() => {}
            () = tokio::time::sleep_until(deadline) => {
                // Somebody may answer in this very moment; whoever settles the record first wins.
                match seat.store.answer_request(team, id, Answer::Expired) {
                    Ok(_) | Err(StoreError::RequestAnswered { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

fn recorded(
    seat: &Seat,
    team: &TeamName,
    id: &RequestId,
    call: &AskedCall,
) -> Result<Option<PermissionAnswer>, StoreError> {
    let record = seat.store.request(team, id)?;
    let Some(ControlFrame::PermissionResponse(response)) = answer_frame(&record) else {
        return Ok(None);
    };
    seat.store.close_request(team, id)?;
    // The mailed copy of the same answer has done its work.
    mailed(seat, team, id, call)?;
    Ok(Some(PermissionAnswer::of(&response, call)))
}

fn mailed(
    seat: &Seat,
    team: &TeamName,
    id: &RequestId,
    call: &AskedCall,
) -> Result<Option<PermissionAnswer>, StoreError> {
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
        return Ok(Some(PermissionAnswer::of(&response, call)));
    }
    Ok(None)
}
