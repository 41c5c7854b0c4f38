//! Asking for permission: adding a request to the queue and waiting for its answer.

use std::time::Duration;

use async_trait::async_trait;
use swarm_permissions::{PermissionOutcome, PermissionRequest};
use swarm_protocol::{
    AgentEvent, Answer, AnsweredBy, ControlFrame, Event, MemberName, NETWORK_ACCESS, PLAN_TOOL,
    RequestId, RequestRecord, UnixMs,
};
use swarm_store::{AnswerLookup, Draft, StoreError, Team};

use super::answer::TIMED_OUT;
use super::outcome;
use super::question;
use crate::{Incoming, MemberContext, sort_mail};

/// An open request with its call.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenRequest {
    /// The record in the queue.
    pub record: RequestRecord,
    /// The request.
    pub request: PermissionRequest,
}

/// Adds the request to the queue and notifies the lead. Without a `timeout` it waits indefinitely.
/// A plan is written to its file first.
///
/// # Errors
/// Errors of the store; the queue is unchanged then.
pub async fn open_request(
    context: &MemberContext,
    team: &dyn Team,
    request: PermissionRequest,
    timeout: impl Into<Option<Duration>>,
) -> Result<OpenRequest, StoreError> {
    // A person on another machine reads how long it waits.
    let now = team.server_time().await?;
    let deadline = timeout.into().map(|timeout| {
        let timeout = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        UnixMs(now.0.saturating_add(timeout))
    });
    let id = match request.tool.as_str() {
        PLAN_TOOL => RequestId::plan(now.0, &context.name, team.name()),
        NETWORK_ACCESS => RequestId::sandbox(now.0),
        _ => RequestId::permission(now.0),
    };
    let kind = question::kind(context, team, &request).await?;
    let record = RequestRecord {
        spawn_id: Some(context.spawn_id),
        description: request.description.clone(),
        why: request.why.clone(),
        deadline,
        ..RequestRecord::open(id, context.name.clone(), kind, now)
    };
    let notice = || context.control(&question::frame(&record)).urgent();
    let notice = (!context.is_lead()).then(notice);
    let record = team.open_request(record, notice).await?;
    Ok(OpenRequest { record, request })
}

/// Wakes on changes of the member's mail or of the request queue. Spurious wakeups are allowed.
#[async_trait]
pub trait ChangeSignal: Send {
    /// Resolves at the next change.
    async fn changed(&mut self);
}

/// Waits for the answer to an open request. It is valid if a command has recorded it in the team's
/// journal; a response by mail alone is valid only if another program leads, and only for this
/// request. After `timeout` the request is denied; if `withdrawn` resolves first, it is withdrawn for
/// that reason.
///
/// # Errors
/// Errors of the store.
pub async fn wait_for_answer(
    context: &MemberContext,
    team: &dyn Team,
    open: &OpenRequest,
    wake: &mut dyn ChangeSignal,
    timeout: impl Into<Option<Duration>>,
    withdrawn: impl Future<Output = &'static str> + Send,
) -> Result<PermissionOutcome, StoreError> {
    tokio::pin!(withdrawn);
    // A deadline that overflows the clock counts as none.
    let deadline = timeout
        .into()
        .and_then(|timeout| tokio::time::Instant::now().checked_add(timeout));
    let id = &open.record.id;
    let mut copies = 0;
    loop {
        if let Some(answer) = answered(context, team, open, &mut copies).await? {
            return Ok(answer);
        }
        tokio::select! {
            biased;
            why = &mut withdrawn => {
                let withdrawn = format!("the request was withdrawn: {why}");
                let withdrawn = PermissionOutcome::unanswered(withdrawn);
                if team.withdraw_request(id, Some(why)).await? {
                    return Ok(withdrawn);
                }
                // It was answered before.
                if let Some(answer) = answered(context, team, open, &mut copies).await? {
                    return Ok(answer);
                }
                if !team.withdraw_request(id, Some(why)).await? {
                    team.close_request(id).await?;
                }
                return Ok(withdrawn);
            }
            () = until(deadline) => {
                // It may be answered concurrently; the first recorded answer wins.
                if team.withdraw_request(id, None).await? {
                    return Ok(PermissionOutcome::unanswered(TIMED_OUT));
                }
            }
            () = wake.changed() => {}
        }
    }
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Returns the answer, if there is one, and removes the request from the queue. `copies` counts the
/// ignored answers whose copies by mail have not arrived: those need no second report.
async fn answered(
    context: &MemberContext,
    team: &dyn Team,
    open: &OpenRequest,
    copies: &mut usize,
) -> Result<Option<PermissionOutcome>, StoreError> {
    let id = &open.record.id;
    let key = context.key_of(team).await?;
    loop {
        // An answer is recorded before its copy is mailed, so the mail is read first.
        let response = mailed(context, team, id).await?;
        let why = match team.look_up_answer(&open.record, key.as_ref()).await? {
            AnswerLookup::Answered(record) => {
                let Some(outcome) = outcome::recorded(&record, &open.request) else {
                    return Ok(None);
                };
                keep_changed_plan(context, team, &open.request, &outcome).await;
                team.close_request(id).await?;
                return Ok(Some(outcome));
            }
            AnswerLookup::Rejected(why) => {
                let has_copy = response.as_ref().is_some_and(|mail| mail.is_copy);
                *copies += usize::from(!has_copy);
                Some(why)
            }
            AnswerLookup::Pending if response.is_none() => return Ok(None),
            AnswerLookup::Pending => None,
        };
        match response {
            Some(response) if context.takes_mailed_answers(team).await? => {
                let outcome = outcome::mailed(&response.frame, &open.request);
                if record_answer(team, id, for_the_record(&outcome), AnsweredBy::lead()).await? {
                    team.close_request(id).await?;
                    return Ok(Some(outcome));
                }
            }
            Some(response) if response.is_copy && why.is_none() && *copies > 0 => *copies -= 1,
            _ => {
                let why = why.as_deref();
                report_ignored_answer(
                    context,
                    team,
                    &open.record,
                    why.unwrap_or(swarm_store::NOT_ENTERED),
                )
                .await;
            }
        }
    }
}

/// Replaces the file of a plan that the approval changed. A failure is only logged: the model gets
/// the plan with the result.
async fn keep_changed_plan(
    context: &MemberContext,
    team: &dyn Team,
    request: &PermissionRequest,
    outcome: &PermissionOutcome,
) {
    let PermissionOutcome::Allow {
        updated_input: Some(input),
        ..
    } = outcome
    else {
        return;
    };
    let plan = input["plan"].as_str();
    let plan = plan.filter(|plan| request.tool == PLAN_TOOL && *plan != question::plan_of(request));
    let Some(plan) = plan else { return };
    let written = team.write_plan(&context.name, context.spawn_id, plan).await;
    if let Err(error) = written {
        tracing::warn!(member = %context.name, %error, "cannot write the changed plan to its file");
    }
}

/// Reports an invalid answer that was ignored.
async fn report_ignored_answer(
    context: &MemberContext,
    team: &dyn Team,
    request: &RequestRecord,
    why: &str,
) {
    let name = &context.name;
    let short = request.short();
    let line = format!("an answer to request {short} was ignored: {why}");
    let event = Event::AnswerIgnored {
        request: request.id.clone(),
        member: name.clone(),
        reason: why.to_owned(),
    };
    if let Err(error) = team.journal(event).await {
        tracing::warn!(member = %name, %error, "cannot record an ignored answer in the journal");
    }
    context.emit(AgentEvent::Notice { line: line.clone() });
    if context.is_lead() {
        return;
    }
    let text = format!(
        "{line}. It was written to {name}'s files without `swarm approve` or `swarm deny`; \
         the request still waits (`swarm requests`)"
    );
    let notice = Draft::system_of(name.as_str(), text).with_summary(line);
    if let Err(error) = team.send(&MemberName::lead(), notice).await {
        tracing::warn!(member = %name, %error, "cannot report an ignored answer to the lead");
    }
}

/// Converts a mailed response to an answer: it never grants more than this call.
fn for_the_record(outcome: &PermissionOutcome) -> Answer {
    match outcome {
        PermissionOutcome::Allow { .. } => Answer::once(),
        PermissionOutcome::Deny { why, .. } => Answer::Denied {
            why: Some(why.clone()),
        },
    }
}

/// Records an answer; returns whether it was the first.
async fn record_answer(
    team: &dyn Team,
    id: &RequestId,
    answer: Answer,
    by: AnsweredBy,
) -> Result<bool, StoreError> {
    match team.answer_request(id, None, answer, by).await {
        Ok(_) => Ok(true),
        Err(StoreError::RequestAnswered { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A response by mail.
struct MailedResponse {
    frame: ControlFrame,
    /// Whether it has the form of the copy that swarm mails of a recorded answer.
    is_copy: bool,
}

/// Returns the answer from the mail and marks it as read. A lead's mail is left to its mail
/// handler.
async fn mailed(
    context: &MemberContext,
    team: &dyn Team,
    id: &RequestId,
) -> Result<Option<MailedResponse>, StoreError> {
    if context.is_lead() {
        return Ok(None);
    }
    for incoming in sort_mail(team.take_unread(&context.name).await?) {
        let Incoming { entry, frame } = incoming;
        let Some(frame) = frame.filter(|frame| frame.answered_request() == Some(id)) else {
            continue;
        };
        let is_copy = entry.is_marked_control();
        if let Some(msg_id) = entry.msg_id {
            team.ack(&context.name, &[msg_id]).await?;
        }
        return Ok(Some(MailedResponse { frame, is_copy }));
    }
    Ok(None)
}
