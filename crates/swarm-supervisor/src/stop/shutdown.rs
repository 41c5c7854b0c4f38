//! Graceful shutdown of one member: request, answer, and termination after the timeout.

use std::time::{Duration, Instant};

use swarm_os::{Liveness, OsError};
use swarm_protocol::{ControlFrame, MemberName, MemberState, RequestId, SpawnId};
use swarm_store::{BlockOn as _, StoreError, Topic};
use swarm_team::{ShutdownAsk, parks_here, request_shutdown};

use super::{StopOptions, StopOutcome, StopReport};
use crate::{LeadError, SupervisedMember};

/// How long a member on a hub that has reported that it stops may take.
const STOPPING: Duration = Duration::from_secs(20);

/// A member's answer to a shutdown request.
enum ShutdownAnswer {
    Agreed,
    /// For this reason.
    Refused(String),
}

impl SupervisedMember<'_> {
    /// Asks a member to stop and waits for its exit. If its agent refuses, the member keeps running
    /// unless `force`; if it does not respond in time, it is terminated.
    ///
    /// # Errors
    /// [`LeadError`]: unknown member, a member of another program, or processes that could not be
    /// terminated.
    pub async fn shutdown(self, options: &StopOptions) -> Result<StopReport, LeadError> {
        let spawn_id = match self.spawn_id() {
            Err(LeadError::Foreign(_)) => return self.shut_down_external(options).await,
            found => found?,
        };
        let outcome = match self.liveness()? {
            Liveness::Alive => match self.ask(spawn_id, options).await {
                // Another process has removed it from the roster.
                Err(LeadError::Store(StoreError::MemberNotFound { .. })) => {
                    StopOutcome::AlreadyGone
                }
                asked => asked?,
            },
            // It can no longer answer a request.
            Liveness::Dead if parks_here(&*self.files(), self.name, spawn_id) => {
                self.end_processes(spawn_id, options.grace(self.team.context))
                    .await?
            }
            Liveness::Dead | Liveness::Foreign => StopOutcome::AlreadyGone,
        };
        if matches!(outcome, StopOutcome::Refused { .. }) {
            return Ok(StopReport::new(self.name.clone(), outcome));
        }
        self.finish(spawn_id, outcome, options.grace(self.team.context))
            .await
    }

    /// Asks a member that another program runs, and waits until its answer is in the lead's inbox.
    /// Its process is not known, so it is never terminated.
    async fn shut_down_external(self, options: &StopOptions) -> Result<StopReport, LeadError> {
        let files = self.files();
        let mail = Topic::Mail(MemberName::lead());
        let mut mail = files.watch(&self.team.context.watcher, &mail);
        let silent = || LeadError::Foreign(self.name.clone());
        let request = self.send_request(None, options).await?;
        let request = request.ok_or_else(silent)?;
        let deadline = tokio::time::sleep(options.timeout);
        tokio::pin!(deadline);
        loop {
            match self.answer(&request)? {
                Some(ShutdownAnswer::Refused(reason)) => {
                    let outcome = StopOutcome::Refused { reason };
                    return Ok(StopReport::new(self.name.clone(), outcome));
                }
                Some(ShutdownAnswer::Agreed) => {
                    let mut report = StopReport::new(self.name.clone(), StopOutcome::Approved);
                    let removed = files.remove_member(self.name, None).await?;
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
    pub(super) fn spawn_id(self) -> Result<SpawnId, LeadError> {
        let config = self.files().known_config().block_on()?;
        let member = config
            .member(self.name)
            .filter(|member| !member.name.is_lead())
            .ok_or_else(|| StoreError::member_not_found(self.team.name, &config, self.name))?;
        member
            .spawn_id()
            .ok_or_else(|| LeadError::Foreign(self.name.clone()))
    }

    async fn ask(self, spawn_id: SpawnId, options: &StopOptions) -> Result<StopOutcome, LeadError> {
        let context = self.team.context;
        let terminate = || self.end_processes(spawn_id, options.grace(context));
        let mail = Topic::Mail(MemberName::lead());
        let mut mail = self.files().watch(&context.watcher, &mail);
        let began = Instant::now();
        let Some(request) = self.send_request(Some(spawn_id), options).await? else {
            return terminate().await;
        };
        let mut timeout = options.timeout.saturating_sub(began.elapsed());
        if self.files().is_remote() {
            // The time that the request takes to the hub, and the answer back, is not the member's.
            timeout = options.timeout.saturating_add(began.elapsed());
        }
        let deadline = tokio::time::sleep(timeout);
        let ended = self.death();
        tokio::pin!(ended, deadline);
        loop {
            // An agent that is not asked cannot refuse. Reading the lead's inbox for each answer of
            // each member takes long in a large team.
            if !options.at_once
                && let Some(ShutdownAnswer::Refused(reason)) = self.answer(&request)?
            {
                if options.force {
                    return terminate().await;
                }
                return Ok(StopOutcome::Refused { reason });
            }
            tokio::select! {
                biased;
                fell = &mut ended => {
                    // If the watcher thread fails, the lock itself is checked.
                    if let Ok(fell) = fell {
                        fell?;
                    }
                    if self.liveness()? != Liveness::Alive {
                        return Ok(StopOutcome::Approved);
                    }
                    return terminate().await;
                }
                () = mail.changed(), if !options.at_once => {}
                () = &mut deadline => {
                    if self.is_stopping(spawn_id).await && self.ends_within(STOPPING).await {
                        return Ok(StopOutcome::Approved);
                    }
                    return terminate().await;
                }
            }
        }
    }

    /// Returns whether a member on a hub has reported that it stops: what remains takes long on a slow
    /// link.
    async fn is_stopping(self, spawn_id: SpawnId) -> bool {
        let files = self.files();
        let last = if files.is_remote() {
            files.state(self.name).await.ok().flatten()
        } else {
            None
        };
        last.is_some_and(|last| {
            last.spawn_id == spawn_id
                && matches!(last.state, MemberState::Stopping | MemberState::Stopped)
        })
    }

    /// Sends the request. Returns `None` if the inbox stays locked until the timeout, most likely by
    /// the frozen member itself; with `force`, also if the inbox cannot be written.
    async fn send_request(
        self,
        spawn_id: Option<SpawnId>,
        options: &StopOptions,
    ) -> Result<Option<RequestId>, LeadError> {
        let now = self.team.context.clock.now();
        let in_a_hurry = self.files().with_lock_timeout(options.timeout);
        let ask = ShutdownAsk {
            reason: options.reason.as_deref(),
            by: options.by,
            spawn_id,
            force: options.at_once,
        };
        match request_shutdown(&*in_a_hurry, self.name, now, ask).await {
            Ok(request) => Ok(Some(request)),
            Err(StoreError::Fs(error))
                if options.force || matches!(error, OsError::LockTimeout { .. }) =>
            {
                tracing::warn!(team = %self.team.name, member = %self.name, %error, "shutdown request not sent");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the answer to this request, if received. Acknowledged entries count, because a
    /// running lead may have read it first.
    fn answer(self, request: &RequestId) -> Result<Option<ShutdownAnswer>, LeadError> {
        let inbox = self.files().inbox(&MemberName::lead()).block_on()?;
        let is_it = |id: &RequestId, from: &str| id == request && from == self.name.as_str();
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
}
