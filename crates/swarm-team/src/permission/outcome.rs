//! What an answer means for the call that waits.

use swarm_policy::{PermissionOutcome, PermissionRequest};
use swarm_protocol::{
    Answer, ApprovedRequest, PermissionResponse, PermissionResult, RequestKind, RequestRecord,
    RequestState, input_digest,
};

use super::answer::{DENIED, NOBODY_ANSWERED};

const FOR_ANOTHER_CALL: &str = "The approval was for another call, so this one was not made.";

/// The outcome of a request that is answered in the queue. What is granted and run is what was asked, whatever the record
/// says by now; a record of another call is a refusal.
pub(super) fn recorded(
    record: &RequestRecord,
    request: &PermissionRequest,
) -> Option<PermissionOutcome> {
    let RequestState::Answered { answer, .. } = &record.state else {
        return None;
    };
    let RequestKind::Permission {
        tool,
        tool_use_id,
        digest,
        ..
    } = &record.request;
    if !is_bound(tool, tool_use_id, digest, request) {
        return Some(PermissionOutcome::deny(FOR_ANOTHER_CALL));
    }
    Some(match answer {
        Answer::Approved { always } => PermissionOutcome::Allow {
            updated_input: None,
            grants: if *always {
                request.suggestions.clone()
            } else {
                Vec::new()
            },
        },
        // What does not fit the questions was refused before it was entered; if it was not, nothing is answered.
        Answer::Answered { answers } => PermissionOutcome::Allow {
            updated_input: swarm_tools::answered(&request.input, answers).ok(),
            grants: Vec::new(),
        },
        Answer::Denied { why } => PermissionOutcome::deny(why.as_deref().unwrap_or(DENIED)),
        Answer::Expired => PermissionOutcome::deny(NOBODY_ANSWERED),
    })
}

/// The outcome of a response that another program's lead mailed: for this one call, so its grants are left out. An
/// approval that names another call is a refusal; one that names none comes from an older lead and counts.
pub(super) fn mailed(
    response: &PermissionResponse,
    request: &PermissionRequest,
) -> PermissionOutcome {
    let content = match &response.result {
        PermissionResult::Error { error } => return PermissionOutcome::deny(error),
        PermissionResult::Success { response } => response.as_ref(),
    };
    let approved = response.approved_request.as_ref();
    let names_it = |approved: &ApprovedRequest| {
        let (tool, id) = (&approved.tool_name, &approved.tool_use_id);
        is_bound(tool, id, &approved.input_digest, request)
    };
    if !approved.is_none_or(names_it) {
        return PermissionOutcome::deny(FOR_ANOTHER_CALL);
    }
    let updated = content.and_then(|content| content.get("updated_input"));
    PermissionOutcome::Allow {
        updated_input: updated.filter(|input| !input.is_null()).cloned(),
        grants: Vec::new(),
    }
}

fn is_bound(tool: &str, tool_use_id: &str, digest: &str, request: &PermissionRequest) -> bool {
    tool == request.tool
        && tool_use_id == request.tool_use_id
        && digest == input_digest(&request.tool, &request.input)
}
