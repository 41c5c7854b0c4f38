//! Graceful shutdown of one member: request, answer, and termination after the timeout.

use swarm_os::{Liveness, OsError};
use swarm_protocol::{ControlFrame, MemberName, RequestId, SpawnId, TeamName};
use swarm_store::{BlockOn as _, StoreError, Topic};
use swarm_team::{ShutdownAsk, request_shutdown};

use super::escalate::{end_processes, member_death};
use super::{StopOptions, StopOutcome, StopReport, finish, member_liveness};
use crate::{LeadError, SpawnContext};

/// Asks a member to stop and waits for its exit. If its agent refuses, the member keeps running
/// unless `force`; if it does not respond in time, it is terminated.
///
/// # Errors
/// [`LeadError`]: unknown member, a member of another program, or processes that could not be
/// terminated.
pub async fn shutdown(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
    options: &StopOptions,
) -> Result<StopReport, LeadError> {
    let spawn_id = match spawn_of(spawn_context, team, name) {
        Err(LeadError::Foreign(_)) => {
            return shut_down_external(spawn_context, team, name, options).await;
        }
        found => found?,
    };
    let outcome = match member_liveness(&*spawn_context.store.team(team), name)? {
        Liveness::Alive => match ask(spawn_context, team, name, spawn_id, options).await {
            // Another process has removed it from the roster.
            Err(LeadError::Store(StoreError::MemberNotFound { .. })) => StopOutcome::AlreadyGone,
            asked => asked?,
        },
        Liveness::Dead | Liveness::Foreign => StopOutcome::AlreadyGone,
    };
    if matches!(outcome, StopOutcome::Refused { .. }) {
        return Ok(StopReport::new(name.clone(), outcome));
    }
    finish(
        spawn_context,
        team,
        name,
        spawn_id,
        outcome,
        options.grace(spawn_context),
    )
    .await
}

/// A member's answer to a shutdown request.
enum ShutdownAnswer {
    Agreed,
    /// For this reason.
    Refused(String),
}

/// Asks a member that another program runs, and waits until its answer is in the lead's inbox. Its
/// process is not known, so it is never terminated.
async fn shut_down_external(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
    options: &StopOptions,
) -> Result<StopReport, LeadError> {
    let files = spawn_context.store.team(team);
    let mut mail = files.watch(&spawn_context.watcher, &Topic::Mail(MemberName::lead()));
    let silent = || LeadError::Foreign(name.clone());
    let asked = send_request(spawn_context, team, name, options).await?;
    let request = asked.ok_or_else(silent)?;
    let deadline = tokio::time::sleep(options.timeout);
    tokio::pin!(deadline);
    loop {
        match answer(spawn_context, team, name, &request)? {
            Some(ShutdownAnswer::Refused(reason)) => {
                let outcome = StopOutcome::Refused { reason };
                return Ok(StopReport::new(name.clone(), outcome));
            }
            Some(ShutdownAnswer::Agreed) => {
                let mut report = StopReport::new(name.clone(), StopOutcome::Approved);
                let removed = files.remove_member(name, None).await?;
                report.released = removed.map(|removed| removed.released).unwrap_or_default();
                return Ok(report);
            }
            None => {}
        }
        tokio::select! {
            () = mail.changed() => {}
            () = &mut deadline => return Err(silent()),
        }
    }
}

/// Returns the spawn of a member that swarm started.
pub(super) fn spawn_of(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
) -> Result<SpawnId, LeadError> {
    let config = spawn_context.store.team(team).config().block_on()?;
    let member = config
        .member(name)
        .filter(|member| !member.name.is_lead())
        .ok_or_else(|| StoreError::member_not_found(team, &config, name))?;
    member
        .spawn_id()
        .ok_or_else(|| LeadError::Foreign(name.clone()))
}

async fn ask(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
    spawn_id: SpawnId,
    options: &StopOptions,
) -> Result<StopOutcome, LeadError> {
    let files = spawn_context.store.team(team);
    let grace = options.grace(spawn_context);
    let terminate = || end_processes(spawn_context, team, name, spawn_id, grace);
    let mut mail = files.watch(&spawn_context.watcher, &Topic::Mail(MemberName::lead()));
    let deadline = tokio::time::sleep(options.timeout);
    let Some(request) = send_request(spawn_context, team, name, options).await? else {
        return terminate().await;
    };
    let ended = member_death(spawn_context, team, name);
    tokio::pin!(ended, deadline);
    loop {
        // An agent that is not asked cannot refuse. Reading the lead's inbox for each answer of each
        // member takes long in a large team.
        if !options.at_once
            && let Some(reason) = refusal(spawn_context, team, name, &request)?
        {
            if options.force {
                return terminate().await;
            }
            return Ok(StopOutcome::Refused { reason });
        }
        tokio::select! {
            fell = &mut ended => {
                // If the watcher thread fails, the lock itself is checked.
                if let Ok(fell) = fell {
                    fell?;
                }
                if member_liveness(&*files, name)? != Liveness::Alive {
                    return Ok(StopOutcome::Approved);
                }
                return terminate().await;
            }
            () = mail.changed(), if !options.at_once => {}
            () = &mut deadline => {
                return terminate().await;
            }
        }
    }
}

/// Sends the request. Returns `None` if the inbox stays locked until the timeout, most likely by
/// the frozen member itself; with `force`, also if the inbox cannot be written.
async fn send_request(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
    options: &StopOptions,
) -> Result<Option<RequestId>, LeadError> {
    let now = spawn_context.clock.now();
    let in_a_hurry = spawn_context
        .store
        .team(team)
        .with_lock_timeout(options.timeout);
    let ask = ShutdownAsk {
        reason: options.reason.as_deref(),
        by: options.by,
        force: options.at_once,
    };
    match request_shutdown(&*in_a_hurry, name, now, ask).await {
        Ok(request) => Ok(Some(request)),
        Err(StoreError::Fs(error))
            if options.force || matches!(error, OsError::LockTimeout { .. }) =>
        {
            tracing::warn!(%team, member = %name, %error, "shutdown request not sent");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the agent's refusal of this request, if received.
fn refusal(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
    request: &RequestId,
) -> Result<Option<String>, LeadError> {
    Ok(match answer(spawn_context, team, name, request)? {
        Some(ShutdownAnswer::Refused(reason)) => Some(reason),
        Some(ShutdownAnswer::Agreed) | None => None,
    })
}

/// Returns the answer to this request, if received. Acknowledged entries count, because a running
/// lead may have read it first.
fn answer(
    spawn_context: &SpawnContext,
    team: &TeamName,
    name: &MemberName,
    request: &RequestId,
) -> Result<Option<ShutdownAnswer>, LeadError> {
    let inbox = spawn_context
        .store
        .team(team)
        .inbox(&MemberName::lead())
        .block_on()?;
    let is_it = |id: &RequestId, from: &str| id == request && from == name.as_str();
    Ok(inbox
        .entries
        .iter()
        .rev()
        .find_map(|entry| match ControlFrame::of_entry(entry) {
            Some(ControlFrame::ShutdownRejected(frame))
                if is_it(&frame.request_id, &frame.from) =>
            {
                Some(ShutdownAnswer::Refused(frame.reason))
            }
            Some(ControlFrame::ShutdownApproved(frame))
                if is_it(&frame.request_id, &frame.from) =>
            {
                Some(ShutdownAnswer::Agreed)
            }
            _ => None,
        }))
}
