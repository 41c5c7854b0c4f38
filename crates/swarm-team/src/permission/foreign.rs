//! Requests of members that another program runs: they arrive and are answered only by mail.

use std::time::Duration;

use serde_json::Value;
use swarm_protocol::{
    ControlFrame, Member, MemberName, PermissionMode, PlanApprovalRequest, RequestId, RequestKind,
    RequestRecord, UnixMs, input_digest,
};
use swarm_store::{StoreError, Team};

use crate::Incoming;

/// How long a plan waits for the end of the turn that asks. A program that was killed never reports
/// the end.
const LAST_PART_OF_TURN: Duration = Duration::from_mins(5);

/// Adds the request of a member that swarm does not run to the queue, without a timeout. Returns
/// `None` for other messages, and the existing record if it was added before. `mode` is the lead's:
/// an approved plan is executed in it.
///
/// # Errors
/// Errors of the store.
pub async fn adopt_request(
    team: &dyn Team,
    incoming: &Incoming,
    mode: PermissionMode,
    now: UnixMs,
) -> Result<Option<RequestRecord>, StoreError> {
    let Some((id, request, description)) =
        incoming.frame.as_ref().and_then(|frame| asked(frame, mode))
    else {
        return Ok(None);
    };
    let Ok(from) = MemberName::teammate(incoming.entry.from.trim()) else {
        return Ok(None);
    };
    let config = team.config().await?;
    let member = config.member(&from);
    if member.is_none_or(|member| member.swarm.is_some()) || !id.is_file_name() {
        return Ok(None);
    }
    let record = RequestRecord {
        description,
        ..RequestRecord::open(id.clone(), from, request, now)
    };
    match team.open_request(record, None).await {
        Ok(record) => Ok(Some(record)),
        Err(StoreError::RequestExists(id)) => team.request(&id).await.map(Some),
        Err(error) => Err(error),
    }
}

/// Converts a frame to the queue's form.
fn asked(frame: &ControlFrame, mode: PermissionMode) -> Option<(RequestId, RequestKind, String)> {
    Some(match frame {
        ControlFrame::PermissionRequest(frame) => {
            let kind = RequestKind::Permission {
                tool: frame.tool_name.clone(),
                tool_use_id: frame.tool_use_id.clone(),
                input: frame.input.clone(),
                digest: input_digest(&frame.tool_name, &frame.input),
                suggestions: frame.permission_suggestions.clone(),
            };
            let line = call_line(&frame.tool_name, &frame.input);
            (frame.request_id.clone(), kind, line)
        }
        ControlFrame::PlanApprovalRequest(frame) => {
            let kind = RequestKind::Plan {
                plan: frame.plan_content.clone(),
                plan_file_path: frame.plan_file_path.clone(),
                mode: match mode {
                    PermissionMode::Plan => PermissionMode::Default,
                    mode => mode,
                },
            };
            (frame.request_id.clone(), kind, plan_line(frame))
        }
        ControlFrame::SandboxPermissionRequest(frame) => {
            let host = frame.host_pattern.host.clone();
            let line = format!("network {host}");
            let kind = RequestKind::Sandbox { host };
            (frame.request_id.clone(), kind, line)
        }
        _ => return None,
    })
}

/// Formats a call from its input, in which the known tools have a main field. The member's own
/// description is not used: it could be the one of a harmless call.
fn call_line(tool: &str, input: &Value) -> String {
    let known = swarm_tools::builtin();
    let known = known.iter().find(|known| known.name() == tool);
    let line = known.map(|known| known.one_line(input));
    line.filter(|line| line.trim_end() != tool)
        .unwrap_or_else(|| swarm_tools::one_line(&format!("{tool} {input}")))
}

fn plan_line(frame: &PlanApprovalRequest) -> String {
    let mut lines = frame.plan_content.lines();
    let first = lines.find(|line| !line.trim().is_empty());
    let first = first.unwrap_or_default().trim_start_matches(['#', ' ']);
    format!("plan: {first}")
}

/// Returns how long a plan that cannot be answered yet waits at most; `None` if it can. It cannot
/// while the turn that asks has not ended: a Claude Code member that gets the answer during it leaves
/// plan mode, but its model may not be told. A plan of some minutes ago can be answered in any case.
///
/// # Errors
/// Errors of the store.
pub async fn early_plan_wait(
    team: &dyn Team,
    incoming: &Incoming,
    now: UnixMs,
) -> Result<Option<Duration>, StoreError> {
    let from = incoming.entry.from.trim();
    let (Some(ControlFrame::PlanApprovalRequest(_)), Ok(name)) =
        (&incoming.frame, MemberName::teammate(from))
    else {
        return Ok(None);
    };
    let asked_at = incoming.entry.timestamp.unix_ms();
    let age = asked_at.map_or(0, |asked_at| now.since(asked_at));
    let left = LAST_PART_OF_TURN.saturating_sub(Duration::from_millis(age));
    if left.is_zero() {
        return Ok(None);
    }
    let config = team.config().await?;
    let is_in_turn = |member: &Member| member.swarm.is_none() && member.is_active == Some(true);
    if config
        .member(&name)
        .is_none_or(|member| !is_in_turn(member))
    {
        return Ok(None);
    }
    // The notice may be here before the roster says so.
    let entries = team.inbox(&MemberName::lead()).await?.entries.into_iter();
    let mut later = entries.skip_while(|entry| entry.text != incoming.entry.text);
    let has_ended = later.any(|entry| {
        let frame = ControlFrame::of_entry(&entry);
        entry.from.trim() == from && matches!(frame, Some(ControlFrame::IdleNotification(_)))
    });
    Ok((!has_ended).then_some(left))
}

/// Adds requests of members of other programs to the queue, in a team without a lead process, and
/// marks their mail as read.
///
/// # Errors
/// Errors of the store.
pub async fn adopt_requests(team: &dyn Team, now: UnixMs) -> Result<(), StoreError> {
    let config = team.known_config().await?;
    let has_foreign = config.teammates().any(|member| member.swarm.is_none());
    if !has_foreign {
        return Ok(());
    }
    let lead = MemberName::lead();
    let mode = config.member(&lead).and_then(Member::known_mode);
    let mut adopted = Vec::new();
    for incoming in crate::sort_mail(team.take_unread(&lead).await?) {
        if early_plan_wait(team, &incoming, now).await?.is_some() {
            continue;
        }
        if adopt_request(team, &incoming, mode.unwrap_or_default(), now)
            .await?
            .is_some()
        {
            adopted.extend(incoming.id().cloned());
        }
    }
    if !adopted.is_empty() {
        team.ack(&lead, &adopted).await?;
    }
    Ok(())
}
