//! The outcome of a permission request for its call.

use serde_json::{Value, json};
use swarm_permissions::{Destination, PermissionOutcome, PermissionRequest, Suggestion};
use swarm_protocol::{
    Answer, ApprovedRequest, ControlFrame, NETWORK_ACCESS, PermissionResponse, PermissionResult,
    PlanApprovalResponse, RequestKind, RequestRecord, RequestState, input_digest,
};

use super::answer::{DENIED, TIMED_OUT, plan_feedback};
use super::question::{host_of, plan_of};

const FOR_ANOTHER_CALL: &str = "The approval was for another call, so this one was not made.";

/// Returns the outcome of a request answered in the queue. Only the original call is granted,
/// whatever the record says now; a record of another call is a denial.
pub(super) fn recorded(
    record: &RequestRecord,
    request: &PermissionRequest,
) -> Option<PermissionOutcome> {
    let RequestState::Answered { answer, .. } = &record.state else {
        return None;
    };
    let is_bound = match &record.request {
        RequestKind::Permission {
            tool_use_id,
            digest,
            ..
        } => is_bound(tool_use_id, digest, request),
        RequestKind::Plan { plan, .. } => {
            if plan == plan_of(request) {
                return Some(planned(answer, request));
            }
            false
        }
        RequestKind::Sandbox { host } => is_host(host, request),
    };
    if !is_bound {
        return Some(PermissionOutcome::deny(FOR_ANOTHER_CALL));
    }
    Some(match answer {
        Answer::Approved {
            always,
            updated_input,
        } => PermissionOutcome::Allow {
            updated_input: updated_input.clone(),
            grants: if *always {
                request.suggestions.clone()
            } else {
                Vec::new()
            },
        },
        // What does not fit the questions was refused before it was entered; if it was not, nothing
        // is answered.
        Answer::Answered { answers } => {
            PermissionOutcome::allow(swarm_tools::answered(&request.input, answers).ok())
        }
        Answer::Denied { why } => PermissionOutcome::deny(why.as_deref().unwrap_or(DENIED)),
        Answer::Expired => PermissionOutcome::deny(TIMED_OUT),
        Answer::Withdrawn { why } => PermissionOutcome::deny(why),
    })
}

/// Returns the outcome of an answer to a plan.
fn planned(answer: &Answer, request: &PermissionRequest) -> PermissionOutcome {
    let feedback = plan_feedback(answer);
    match answer {
        Answer::Denied { .. } | Answer::Expired | Answer::Withdrawn { .. } => {
            PermissionOutcome::deny(feedback.unwrap_or_default())
        }
        Answer::Approved { updated_input, .. } => {
            PermissionOutcome::allow(updated_input.clone().map(as_edited))
        }
        Answer::Answered { .. } => PermissionOutcome::allow(
            feedback.map(|feedback| with_feedback(&request.input, &feedback)),
        ),
    }
}

fn with_feedback(input: &Value, feedback: &str) -> Value {
    let mut input = input.clone();
    input["feedback"] = json!(feedback);
    input
}

/// Marks a plan that the person changed, so that the model gets the new one.
fn as_edited(mut input: Value) -> Value {
    if let Value::Object(fields) = &mut input {
        fields.insert("edited".to_owned(), json!(true));
    }
    input
}

/// Returns the outcome of a response mailed by another program's lead; any other frame is a denial.
pub(super) fn mailed(response: &ControlFrame, request: &PermissionRequest) -> PermissionOutcome {
    match response {
        ControlFrame::PermissionResponse(response) => mailed_permission(response, request),
        ControlFrame::PlanApprovalResponse(response) => mailed_plan(response, request),
        ControlFrame::SandboxPermissionResponse(response) if is_host(&response.host, request) => {
            if response.allow {
                PermissionOutcome::allow(None)
            } else {
                PermissionOutcome::deny(DENIED)
            }
        }
        _ => PermissionOutcome::deny(FOR_ANOTHER_CALL),
    }
}

/// Valid for this call only, so its grants are ignored. An approval for another call is a denial;
/// one without a call comes from an older lead and is valid.
fn mailed_permission(
    response: &PermissionResponse,
    request: &PermissionRequest,
) -> PermissionOutcome {
    let content = match &response.result {
        PermissionResult::Error { error } => return PermissionOutcome::deny(error),
        PermissionResult::Success { response } => response.as_ref(),
    };
    let approved = response.approved_request.as_ref();
    let names_it = |approved: &ApprovedRequest| {
        is_bound(&approved.tool_use_id, &approved.input_digest, request)
    };
    if !approved.is_none_or(names_it) {
        return PermissionOutcome::deny(FOR_ANOTHER_CALL);
    }
    let updated = content.and_then(|content| content.get("updated_input"));
    PermissionOutcome::allow(updated.filter(|input| !input.is_null()).cloned())
}

/// The lead's mode is limited by the member's ceiling.
fn mailed_plan(response: &PlanApprovalResponse, request: &PermissionRequest) -> PermissionOutcome {
    let feedback = response.feedback.as_deref();
    let feedback = feedback.filter(|feedback| !feedback.trim().is_empty());
    if !response.approved {
        let answer = Answer::Denied {
            why: feedback.map(str::to_owned),
        };
        return planned(&answer, request);
    }
    let mode = response.permission_mode.as_deref();
    let mode = mode.and_then(|mode| mode.parse().ok());
    PermissionOutcome::Allow {
        updated_input: feedback.map(|feedback| with_feedback(&request.input, feedback)),
        grants: mode
            .map(|mode| Suggestion::SetMode {
                mode,
                destination: Destination::Session,
            })
            .into_iter()
            .collect(),
    }
}

fn is_host(host: &str, request: &PermissionRequest) -> bool {
    request.tool == NETWORK_ACCESS && host == host_of(request)
}

/// The digest covers the tool and its input.
fn is_bound(tool_use_id: &str, digest: &str, request: &PermissionRequest) -> bool {
    tool_use_id == request.tool_use_id && digest == input_digest(&request.tool, &request.input)
}

#[cfg(test)]
mod tests {
    use swarm_protocol::{MemberName, PLAN_TOOL, PermissionMode, RequestId, UnixMs};

    use super::*;

    fn call(tool: &str, input: Value) -> PermissionRequest {
        PermissionRequest {
            tool: tool.to_owned(),
            tool_use_id: "toolu_1".to_owned(),
            input,
            description: String::new(),
            why: String::new(),
            suggestions: Vec::new(),
            next_mode: None,
        }
    }

    #[test]
    fn a_recorded_approval_of_another_call_is_a_denial() {
        let make = json!({"command": "make"});
        let bash = |tool_use_id: &str, input: &Value| RequestKind::Permission {
            tool: "Bash".to_owned(),
            tool_use_id: tool_use_id.to_owned(),
            input: input.clone(),
            digest: input_digest("Bash", input),
            suggestions: Vec::new(),
        };
        let plan = |plan: &str| RequestKind::Plan {
            plan: plan.to_owned(),
            plan_file_path: "/plan.md".to_owned(),
            mode: PermissionMode::Default,
        };
        let network = |host: &str| RequestKind::Sandbox {
            host: host.to_owned(),
        };
        let nothing = json!({});
        for (request, same, other) in [
            (
                call("Bash", make.clone()),
                bash("toolu_1", &make),
                bash("toolu_2", &make),
            ),
            (
                call("Bash", nothing.clone()),
                bash("toolu_1", &nothing),
                network(""),
            ),
            (
                call(PLAN_TOOL, json!({"plan": "# Fix it"})),
                plan("# Fix it"),
                plan("# Break it"),
            ),
            (
                call(NETWORK_ACCESS, json!({"host": "a.example"})),
                network("a.example"),
                network("b.example"),
            ),
        ] {
            let is_allowed = |kind: &RequestKind| {
                let from = MemberName::teammate("bob").unwrap();
                let id = RequestId::new("perm-1-abcdefg");
                let mut record = RequestRecord::open(id, from, kind.clone(), UnixMs(1));
                record.state = RequestState::Answered {
                    answer: Answer::once(),
                    at: UnixMs(2),
                };
                let outcome = recorded(&record, &request).unwrap();
                matches!(outcome, PermissionOutcome::Allow { .. })
            };
            assert!(is_allowed(&same), "{same:?}");
            assert!(!is_allowed(&other), "{other:?}");
        }
    }
}
