//! Answering permission requests.

use serde_json::json;
use swarm_protocol::{
    Answer, AnsweredBy, ApprovedRequest, ControlFrame, Event, LEAD_NAME, PermissionResponse,
    PermissionResult, PlanApprovalResponse, RequestId, RequestKind, RequestRecord, RequestState,
    SandboxPermissionResponse, UnixMs,
};
use swarm_store::{Draft, StoreError, Team};

use super::always::AlwaysGrants;
use crate::team_rights::allow_for_team;

/// Text for the model when a request is denied without a reason.
pub(super) const DENIED: &str = "Permission denied by the user.";

/// Text for the model when a plan is rejected without a reason.
const NEEDS_REVISION: &str = "The plan needs revision.";

/// Text for the model when a request times out.
pub(super) const TIMED_OUT: &str = "The permission request timed out, so the call was not made.";

/// Answers a request as it was shown. Exactly one answer wins. If it is approved with `always`, the
/// rules that a member of swarm suggests also become rules of the team ([`allow_for_team`]): other
/// members and later processes of this one do not ask again. Everything else that is suggested is
/// the member's alone ([`AlwaysGrants`]).
///
/// # Errors
/// Not found, already answered, or changed since it was shown; errors of the store.
/// [`StoreError::RuleNotAdded`] if the request is approved, but only for this member.
pub async fn answer_request(
    team: &dyn Team,
    shown: &RequestRecord,
    answer: Answer,
    by: AnsweredBy,
) -> Result<RequestRecord, StoreError> {
    let is_for_team = matches!(answer, Answer::Approved { always: true, .. });
    let record = record_answer(team, shown, answer, by.clone()).await?;
    if is_for_team {
        for rule in AlwaysGrants::of(&record).for_team {
            let allowed = allow_for_team(team, &rule, by.clone()).await;
            allowed.map_err(|error| StoreError::RuleNotAdded {
                request: record.short().into_owned(),
                rule: rule.to_string(),
                source: Box::new(error),
            })?;
        }
    }
    Ok(record)
}

/// How a request ended, according to the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierAnswer {
    /// The journal's word, such as `approved` or `withdrawn`.
    pub answer: String,
    /// Why it was denied or withdrawn.
    pub why: Option<String>,
    /// When.
    pub at: UnixMs,
}

/// Returns the answer that a request got first. `None` if the journal has no answer to it or cannot
/// be read.
pub async fn earlier_answer(team: &dyn Team, id: &RequestId) -> Option<EarlierAnswer> {
    let events = team.events().await.ok()?.entries;
    let number = id.as_str().strip_prefix('p').and_then(|n| n.parse().ok());
    let numbered = events.iter().find_map(|entry| match &entry.event {
        Event::RequestOpened {
            request,
            number: Some(given),
            ..
        } if Some(*given) == number => Some(request.clone()),
        _ => None,
    });
    let id = numbered.as_ref().unwrap_or(id);
    events.iter().rev().find_map(|entry| match &entry.event {
        Event::RequestAnswered {
            request,
            answer,
            why,
            ..
        } if request == id || request.short() == id.as_str() => Some(EarlierAnswer {
            answer: answer.clone(),
            why: why.clone(),
            at: entry.at,
        }),
        _ => None,
    })
}

async fn record_answer(
    team: &dyn Team,
    shown: &RequestRecord,
    answer: Answer,
    by: AnsweredBy,
) -> Result<RequestRecord, StoreError> {
    let id = &shown.id;
    let record = team
        .answer_request(id, Some(&shown.request), answer, by)
        .await?;
    // The lead only uses the queue, so no mail is needed.
    let Some(frame) = answer_frame(&record).filter(|_| !record.from.is_lead()) else {
        return Ok(record);
    };
    let sent = team
        .send(&record.from, Draft::control(LEAD_NAME, &frame).urgent())
        .await;
    if record.spawn_id.is_none() {
        // A member of another program does not read the queue: it gets the answer only by mail.
        sent?;
        team.close_request(id).await?;
    } else if let Err(error) = sent {
        // The record already holds the answer and the requester reads it at its next check, so a
        // failure to notify a departed member is ignored.
        tracing::debug!(request = %id, %error, "answer not mailed");
    }
    Ok(record)
}

/// Returns the answer as the frame that Claude Code's members expect.
fn answer_frame(record: &RequestRecord) -> Option<ControlFrame> {
    let RequestState::Answered { answer, at } = &record.state else {
        return None;
    };
    let request_id = record.id.clone();
    let allow = answer.is_grant();
    Some(match &record.request {
        RequestKind::Permission {
            tool,
            tool_use_id,
            digest,
            ..
        } => ControlFrame::PermissionResponse(PermissionResponse {
            request_id,
            result: permission_result(&record.request, answer),
            tool_use_id: Some(tool_use_id.clone()),
            approved_request: Some(ApprovedRequest {
                tool_use_id: tool_use_id.clone(),
                tool_name: tool.clone(),
                input_digest: digest.clone(),
            }),
        }),
        RequestKind::Plan { mode, .. } => {
            ControlFrame::PlanApprovalResponse(PlanApprovalResponse {
                request_id,
                approved: allow,
                feedback: plan_feedback(answer),
                timestamp: at.iso(),
                permission_mode: allow.then(|| mode.to_string()),
            })
        }
        RequestKind::Sandbox { host } => {
            ControlFrame::SandboxPermissionResponse(SandboxPermissionResponse {
                request_id,
                host: host.clone(),
                allow,
                timestamp: at.iso(),
            })
        }
    })
}

fn permission_result(request: &RequestKind, answer: &Answer) -> PermissionResult {
    let response = match answer {
        Answer::Denied { why } => {
            let error = why.clone().unwrap_or_else(|| DENIED.to_owned());
            return PermissionResult::Error { error };
        }
        Answer::Expired => {
            return PermissionResult::Error {
                error: TIMED_OUT.to_owned(),
            };
        }
        Answer::Withdrawn { why } => return PermissionResult::Error { error: why.clone() },
        Answer::Approved {
            always,
            updated_input,
        } => {
            let updates = if *always { request.suggestions() } else { &[] };
            let mut response = json!({ "permission_updates": updates });
            if let Some(input) = updated_input {
                response["updated_input"] = input.clone();
            }
            response
        }
        // Invalid answers are rejected before they are recorded; any that remain are ignored.
        Answer::Answered { answers } => {
            let input = request.input();
            let updated = swarm_tools::answered(&input, answers);
            json!({ "updated_input": updated.unwrap_or_else(|_| input.into_owned()) })
        }
    };
    PermissionResult::Success {
        response: Some(response),
    }
}

/// Returns the remark to a plan.
pub(super) fn plan_feedback(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Approved { .. } => None,
        Answer::Answered { answers } => Some(answers.join("\n")),
        Answer::Denied { why } => Some(why.clone().unwrap_or_else(|| NEEDS_REVISION.to_owned())),
        Answer::Expired => Some(TIMED_OUT.to_owned()),
        Answer::Withdrawn { why } => Some(why.clone()),
    }
}

#[cfg(test)]
mod tests {
    use swarm_protocol::{MemberName, PermissionMode, RequestId, UnixMs};

    use super::*;

    #[test]
    fn an_expired_request_is_answered_with_a_no() {
        let plan = RequestKind::Plan {
            plan: "# Fix it".to_owned(),
            plan_file_path: "/plan.md".to_owned(),
            mode: PermissionMode::Default,
        };
        let from = MemberName::teammate("bob").unwrap();
        let mut record = RequestRecord::open(RequestId::new("p"), from, plan, UnixMs(1));
        for answer in [Answer::Denied { why: None }, Answer::Expired] {
            record.state = RequestState::Answered {
                answer,
                at: UnixMs(2),
            };
            let frame = answer_frame(&record);
            let Some(ControlFrame::PlanApprovalResponse(frame)) = frame else {
                panic!("{frame:?}");
            };
            assert_eq!((frame.approved, frame.permission_mode), (false, None));
        }
    }
}
