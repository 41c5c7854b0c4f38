//! A person's half: yes or no to a request in the queue.

use swarm_protocol::{
    Answer, AnsweredBy, ApprovedRequest, ControlFrame, LEAD_NAME, PermissionResponse,
    PermissionResult, RequestKind, RequestRecord, RequestState,
};
use swarm_store::{Draft, StoreError, Team};

/// What the model is told where no reason was given.
pub(super) const DENIED: &str = "Permission denied by the user.";

/// What the model is told of a request that expired.
pub(super) const NOBODY_ANSWERED: &str =
    "Nobody answered the permission request in time, so the call was not made.";

/// A person says yes to a request as it was shown. Exactly one answer wins.
///
/// # Errors
/// Not found, already answered, or by now about another call.
pub fn approve(
    team: &dyn Team,
    shown: &RequestRecord,
    always: bool,
    by: AnsweredBy,
) -> Result<RequestRecord, StoreError> {
    settle(team, shown, Answer::Approved { always }, by)
}

/// A person answers the questions of a call as it was shown, one answer for each. Exactly one answer wins.
///
/// # Errors
/// As [`approve`].
pub fn answer(
    team: &dyn Team,
    shown: &RequestRecord,
    answers: Vec<String>,
    by: AnsweredBy,
) -> Result<RequestRecord, StoreError> {
    settle(team, shown, Answer::Answered { answers }, by)
}

/// A person says no to a request as it was shown.
///
/// # Errors
/// As [`approve`].
pub fn deny(
    team: &dyn Team,
    shown: &RequestRecord,
    why: Option<String>,
    by: AnsweredBy,
) -> Result<RequestRecord, StoreError> {
    settle(team, shown, Answer::Denied { why }, by)
}

fn settle(
    team: &dyn Team,
    shown: &RequestRecord,
    answer: Answer,
    by: AnsweredBy,
) -> Result<RequestRecord, StoreError> {
    let id = &shown.id;
    let record = team.answer_request(id, Some(&shown.request), answer, by)?;
    // The lead asks through the queue alone, so its record is all it waits for.
    if let Some(frame) = answer_frame(&record).filter(|_| !record.from.is_lead()) {
        let draft = Draft::control(LEAD_NAME, &frame).urgent();
        // The record already holds the answer and the asker reads it at its next look, so a member that has
        // left in the meantime is no failure of the answer.
        match team.send(&record.from, draft) {
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
        input,
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
        // What does not fit the questions was refused before it was entered; if it was not, nothing is answered.
        Answer::Answered { answers } => {
            let updated = swarm_tools::answered(input, answers).unwrap_or_else(|_| input.clone());
            let response = serde_json::json!({ "updated_input": updated });
            PermissionResult::Success {
                response: Some(response),
            }
        }
        Answer::Denied { why } => {
            let error = why.clone().unwrap_or_else(|| DENIED.to_owned());
            PermissionResult::Error { error }
        }
        Answer::Expired => PermissionResult::Error {
            error: NOBODY_ANSWERED.to_owned(),
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
