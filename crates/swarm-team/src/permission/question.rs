//! The request of a member, as a record in the queue and as a frame to the lead.

use serde_json::json;
use swarm_permissions::PermissionRequest;
use swarm_protocol::{
    ControlFrame, HostPattern, NETWORK_ACCESS, PLAN_TOOL, PermissionRequestFrame,
    PlanApprovalRequest, RequestKind, RequestRecord, SandboxPermissionRequest, input_digest,
};
use swarm_store::{StoreError, Team};

use crate::MemberContext;

/// Builds the kind of a request. A plan is written to its file.
pub(super) async fn kind(
    context: &MemberContext,
    team: &dyn Team,
    request: &PermissionRequest,
) -> Result<RequestKind, StoreError> {
    if request.tool == PLAN_TOOL {
        let plan = plan_of(request);
        let path = team
            .write_plan(&context.name, context.spawn_id, plan)
            .await?;
        return Ok(RequestKind::Plan {
            plan: plan.to_owned(),
            plan_file_path: path.display().to_string(),
            mode: request.next_mode.unwrap_or_default(),
        });
    }
    if request.tool == NETWORK_ACCESS {
        let host = host_of(request).to_owned();
        return Ok(RequestKind::Sandbox { host });
    }
    Ok(RequestKind::Permission {
        tool: request.tool.clone(),
        tool_use_id: request.tool_use_id.clone(),
        input: request.input.clone(),
        digest: input_digest(&request.tool, &request.input),
        suggestions: request
            .suggestions
            .iter()
            .map(|grant| json!(grant))
            .collect(),
    })
}

/// Returns the plan of a call.
pub(super) fn plan_of(request: &PermissionRequest) -> &str {
    request.input["plan"].as_str().unwrap_or_default()
}

/// Returns the host to which a request for network access refers.
pub(super) fn host_of(request: &PermissionRequest) -> &str {
    request.input["host"].as_str().unwrap_or_default()
}

/// Converts the request to the frame that leads of any program understand.
pub(super) fn frame(record: &RequestRecord) -> ControlFrame {
    let (request_id, from) = (record.id.clone(), record.from.to_string());
    match &record.request {
        RequestKind::Permission {
            tool,
            tool_use_id,
            input,
            suggestions,
            ..
        } => ControlFrame::PermissionRequest(PermissionRequestFrame {
            request_id,
            agent_id: from,
            tool_name: tool.clone(),
            tool_use_id: tool_use_id.clone(),
            description: record.description.clone(),
            input: input.clone(),
            permission_suggestions: suggestions.clone(),
        }),
        RequestKind::Plan {
            plan,
            plan_file_path,
            ..
        } => ControlFrame::PlanApprovalRequest(PlanApprovalRequest {
            from,
            timestamp: record.asked_at.iso(),
            plan_file_path: plan_file_path.clone(),
            plan_content: plan.clone(),
            request_id,
        }),
        RequestKind::Sandbox { host } => {
            ControlFrame::SandboxPermissionRequest(SandboxPermissionRequest {
                request_id,
                worker_id: from.clone(),
                worker_name: from,
                worker_color: None,
                host_pattern: HostPattern { host: host.clone() },
                created_at: record.asked_at,
            })
        }
    }
}
