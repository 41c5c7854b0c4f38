//! The role of a teammate: reports turns to the lead, answers shutdown requests, and takes no turns
//! while it is paused or without a lead.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use swarm_agent::{TurnOutcome, or_never};
use swarm_protocol::{
    Event, LeadProcess, MemberState, OnLost, RequestId, ShutdownRequest, TeamConfig,
};
use swarm_store::{BlockOn as _, Lease, StoreError, Team};
use swarm_team::{Incoming, MemberContext, approve_shutdown};
use tokio::time::Instant;

use crate::broker::waiting_state;
use crate::mail::MailHandler;
use crate::role::{MemberLoop, Recovery, Role, Turn};
use crate::teammate::error::Ending;
use crate::teammate::lead_watch::LeadWatch;
use crate::teammate::mail::TeammateMail;
use crate::teammate::suspension::{PauseWatch, Suspension, loss};
use crate::teammate::turn_reporter::TurnReporter;
use crate::teammate::{ProcessFacts, TeammateError};

pub(crate) struct TeammateRole {
    pub(crate) team: Arc<dyn Team>,
    pub(crate) lease: Arc<Lease>,
    pub(crate) mail: Arc<TeammateMail>,
    pub(crate) process: ProcessFacts,
    /// How long a shutdown request waits for the model.
    pub(crate) grace: Duration,
    pub(crate) lead: LeadWatch,
    pub(crate) pause: PauseWatch,
    pub(crate) reports: TurnReporter,
    pub(crate) shutdown_deadline: Option<ShutdownDeadline>,
    /// Why no turns are taken.
    pub(crate) suspension: Option<Suspension>,
    /// The process that led the team, if it is gone and that matters to this member.
    pub(crate) lost: Option<LeadProcess>,
    /// How often in a row hooks have kept it from going idle.
    pub(crate) kept_busy: u32,
    /// The reason of a hook that stops it.
    pub(crate) ended_by_hook: Option<String>,
}

/// When the program agrees to a shutdown request on behalf of its model.
#[derive(Debug, Clone)]
pub(crate) struct ShutdownDeadline {
    request: RequestId,
    at: Instant,
}

/// What a teammate watches during a turn.
pub(crate) enum TurnEvent {
    /// A shutdown request has waited until this instant.
    DeadlineOver(Instant),
    /// The lead may have been lost, or there may be a new one.
    Lead,
    /// The pause mark may have changed.
    Pause,
}

impl Role for TeammateRole {
    type End = Ending;
    type Error = TeammateError;
    type TurnEvent = TurnEvent;

    fn lease_lost(&self) -> BoxFuture<'static, ()> {
        self.lease.lost().boxed()
    }

    async fn begin_step(member: &mut MemberLoop<Self>) -> Result<Option<Ending>, TeammateError> {
        if member.stop.is_cancelled() {
            // Unread mail stays in the inbox.
            member.role.reports.leaves().await;
            return Ok(Some(Ending::Terminated));
        }
        if member.role.lease.is_lost() {
            return Ok(Some(member.park_without_lease().await));
        }
        let roster = roster(&*member.role.team, member.context()).await?;
        if !is_in(member.context(), roster.as_ref()) {
            return Ok(Some(Ending::Removed));
        }
        member.role.lost = member.role.lead.lost_in(roster.as_ref()).await;
        member.update_suspension(roster.as_ref()).await;
        member.role.reports.send().await;
        Ok(None)
    }

    fn is_suspended(&self) -> bool {
        self.suspension.is_some()
    }

    /// A parked member reads only what the person at its terminal types; a paused one reads
    /// nothing.
    fn reads_now(&self, mail: &MailHandler, message: &Incoming) -> bool {
        match &self.suspension {
            None => true,
            Some(Suspension::Parked(_)) => mail.is_typed_here(message),
            Some(Suspension::Paused(_)) => false,
        }
    }

    async fn mail_taken(member: &mut MemberLoop<Self>) -> Result<Option<Ending>, TeammateError> {
        member.shut_down_if_agreed().await
    }

    async fn mail_read(member: &mut MemberLoop<Self>) -> Result<Option<Ending>, TeammateError> {
        if !member.session.needs_turn()
            // A hook may have withheld the request from the model.
            && let Some(end) = member.shut_down_if_agreed().await?
        {
            return Ok(Some(end));
        }
        let role = &mut member.role;
        if let Some(why) = role.ended_by_hook.take() {
            let detail = format!("stopped by a hook: {why}");
            member.reporter.state(MemberState::Stopped, Some(detail));
            return Ok(Some(Ending::ShutDown));
        }
        if role.lead.on_lost == OnLost::Stop
            && let Some(lead) = role.lost.take()
        {
            role.reports.leaves().await;
            member
                .reporter
                .state(MemberState::Stopped, Some(loss(&lead)));
            return Ok(Some(Ending::LeadLost));
        }
        Ok(None)
    }

    async fn idle(member: &mut MemberLoop<Self>) -> Result<Option<Ending>, TeammateError> {
        let role = &mut member.role;
        match &role.suspension {
            // A new lead may have started before the watch.
            Some(Suspension::Parked(_)) if role.lead.watch_for_change() => {}
            Some(Suspension::Parked(_)) => member.wait(None).await,
            Some(Suspension::Paused(_)) => {
                member.wait(Some("read when this member continues")).await;
            }
            None => match role.reports.overdue() {
                // Its sub-agents were stopped, so no result starts a turn.
                Some(outcome) if !member.sub_agents.is_busy() => member.end_turn(&outcome).await?,
                _ => member.rest().await,
            },
        }
        Ok(None)
    }

    async fn changed(&mut self) {
        tokio::select! {
            () = self.lease.lost() => {}
            () = self.pause.changed() => {}
            () = self.lead.changed() => {}
            () = self.reports.changed() => {}
        }
    }

    async fn idle_state(&mut self) -> (MemberState, Option<String>) {
        self.reports.idle_state().await
    }

    async fn turn_begins(&mut self, turn: &Turn) {
        self.reports.turn_begins().await;
        let (context, team) = (Arc::clone(&turn.mail.context), Arc::clone(&self.team));
        turn.mail
            .write_later(move || set_active(&context, &*team, true).block_on());
        // A suspended member takes a turn only for the person at its terminal.
        self.lead.turn_begins(self.suspension.is_some());
    }

    fn request_sent(&mut self, turn: &Turn) {
        let waiting = self.mail.shutdown.open();
        if waiting.is_some() {
            self.set_deadline(waiting, turn);
        }
    }

    async fn turn_event(&mut self, turn: &Turn) -> TurnEvent {
        let deadline = self.shutdown_deadline.as_ref();
        let at = deadline.filter(|_| !turn.is_cancelled());
        let over = or_never(at.map(async |deadline| {
            tokio::time::sleep_until(deadline.at).await;
            deadline.at
        }));
        tokio::select! {
            biased;
            at = over => TurnEvent::DeadlineOver(at),
            () = self.lead.changed_in_turn() => TurnEvent::Lead,
            () = self.pause.changed() => TurnEvent::Pause,
        }
    }

    async fn on_turn_event(&mut self, turn: &Turn, event: TurnEvent) {
        match event {
            TurnEvent::DeadlineOver(at) => {
                // Another request may have replaced it meanwhile.
                self.look_for_shutdown(turn).await;
                let deadline = self.shutdown_deadline.as_ref();
                if deadline.is_some_and(|deadline| deadline.at == at) {
                    turn.signals.cancel.cancel();
                }
            }
            TurnEvent::Lead => self.look_for_lead(turn).await,
            TurnEvent::Pause => self.look_for_pause(turn).await,
        }
    }

    async fn on_turn_mail(&mut self, turn: &Turn) {
        self.look_for_shutdown(turn).await;
        if let Err(error) = turn.mail.take_rights().await {
            // It stays unread, and is handled after the turn.
            tracing::warn!(member = %turn.mail.context.name, %error, "cannot read a change of rights during a turn");
        }
        match turn.mail.take_interrupt().await {
            Ok(true) => {
                turn.reporter.notice("interrupted by a person");
                turn.signals.cancel.cancel();
            }
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(member = %turn.mail.context.name, %error, "cannot read an interrupt during a turn");
            }
        }
        self.look_for_lead(turn).await;
    }

    async fn turn_ended(
        member: &mut MemberLoop<Self>,
        outcome: TurnOutcome,
    ) -> Result<Option<Ending>, TeammateError> {
        if member.role.lease.is_lost() {
            // Nothing about the turn can be recorded.
            return Ok(None);
        }
        set_active(member.context(), &*member.role.team, false).await;
        member.journal_turn(&outcome).await;
        member.publish_work().await;
        member.end_turn(&outcome).await?;
        member.report_suspension();
        Ok(None)
    }

    fn recovery(error: &TeammateError) -> Recovery<Ending> {
        match error {
            TeammateError::Store(StoreError::TeamNotFound { .. } | StoreError::NotOnHub { .. }) => {
                Recovery::End(Ending::Removed)
            }
            _ => Recovery::Retry,
        }
    }
}

impl TeammateRole {
    async fn look_for_shutdown(&mut self, turn: &Turn) {
        match turn.mail.waiting_shutdown().await {
            Ok(waiting) => self.set_deadline(waiting, turn),
            Err(error) => {
                // The sender has its own, later deadline.
                tracing::warn!(member = %turn.mail.context.name, %error, "inbox not read during a turn");
            }
        }
    }

    /// Sets the deadline of the request that waits: each request has its own, and a refused one has
    /// none. A forced request interrupts the turn.
    fn set_deadline(&mut self, waiting: Option<ShutdownRequest>, turn: &Turn) {
        let Some(request) = waiting else {
            self.shutdown_deadline = None;
            return;
        };
        if request.force {
            self.mail.hurry();
            turn.signals.cancel.cancel();
        }
        let known = self.shutdown_deadline.as_ref();
        if known.is_none_or(|deadline| deadline.request != request.request_id) {
            self.shutdown_deadline = Some(ShutdownDeadline {
                request: request.request_id,
                at: Instant::now() + self.grace,
            });
        }
    }

    async fn look_for_lead(&mut self, turn: &Turn) {
        let Some(look) = self.lead.check_in_turn().await else {
            return;
        };
        if let Some(news) = look.news {
            // A request outlives the lead.
            let waiting = if look.is_lost {
                None
            } else {
                waiting_state(&turn.mail.context).await
            };
            let (state, detail) = waiting.unwrap_or(news);
            turn.reporter.state(state, Some(detail));
        }
        let suspend = &turn.signals.suspend;
        if look.is_lost && !suspend.is_cancelled() {
            suspend.cancel();
            // The turn does not wait for sub-agents that no longer ask a model. The resumed turn
            // gets their results.
            turn.sub_agents.hold(true);
            turn.sub_agents.send_to_background(None);
        }
    }

    async fn look_for_pause(&mut self, turn: &Turn) {
        let before = self.pause.known();
        let line = match (before, self.pause.mark().await) {
            (false, Some(mark)) => format!("{} pauses this member when its turn ends", mark.by),
            (true, None) => "the pause was cancelled".to_owned(),
            _ => return,
        };
        turn.reporter.notice(line);
    }

    /// Returns the open shutdown request once there is nothing to wait for: it is forced, the model
    /// has read it and ended its turn without a refusal, its deadline is over, or the model takes
    /// no turn in which it could refuse.
    fn agreed_shutdown(&self) -> Option<ShutdownRequest> {
        let request = self.mail.shutdown.open()?;
        let deadline = self.shutdown_deadline.as_ref();
        let is_over = deadline.is_some_and(|deadline| {
            deadline.request == request.request_id && Instant::now() >= deadline.at
        });
        let is_agreed = request.force
            || self.is_suspended()
            || self.mail.shutdown.was_notified(&request.request_id)
            || is_over;
        is_agreed.then_some(request)
    }
}

/// Reads the roster once for all lookups; `None` if it is unreadable, so that membership is
/// unknown.
pub(super) async fn roster(
    team: &dyn Team,
    context: &MemberContext,
) -> Result<Option<TeamConfig>, StoreError> {
    match team.known_config().await {
        Ok(config) => Ok(Some(config)),
        Err(error @ (StoreError::TeamNotFound { .. } | StoreError::NotOnHub { .. })) => Err(error),
        Err(error) => {
            tracing::warn!(team = %team.name(), member = %context.name, %error, "roster not read");
            Ok(None)
        }
    }
}

/// Whether this spawn is still the member of its name. An entry without our mark, removed by
/// another program, counts.
pub(super) fn is_in(context: &MemberContext, roster: Option<&TeamConfig>) -> bool {
    let Some(roster) = roster else {
        return true;
    };
    roster.member(&context.name).is_some_and(|member| {
        let spawn = member.spawn_id();
        spawn.is_none_or(|spawn| spawn == context.spawn_id)
    })
}

impl MemberLoop<TeammateRole> {
    /// Finds out whether turns may be taken, and reports a change.
    async fn update_suspension(&mut self, roster: Option<&TeamConfig>) {
        let role = &mut self.role;
        let parked = role.lost.as_ref();
        let parked = parked.filter(|_| role.lead.on_lost == OnLost::Park);
        let suspension = match (parked, role.pause.mark_in(roster).await) {
            (Some(lead), _) => Some(Suspension::Parked(lead.clone())),
            (None, Some(mark)) => Some(Suspension::Paused(mark)),
            (None, None) => None,
        };
        // A suspended turn holds them before the suspension is known here.
        self.sub_agents.hold(suspension.is_some());
        if suspension == role.suspension {
            return;
        }
        let before = std::mem::replace(&mut role.suspension, suspension);
        role.lead.ignore_change();
        self.reported = None;
        let member = self.mail.context.name.clone();
        let event = match (&self.role.suspension, before) {
            (Some(suspension), _) => suspension.event(member),
            (None, Some(before)) => {
                let from = before.state();
                self.reporter
                    .notice(format!("no longer {}; continuing", from.name()));
                Event::MemberContinued { member, from }
            }
            (None, None) => return,
        };
        self.report_suspension();
        self.journal(event).await;
    }

    fn report_suspension(&self) {
        if let Some(suspension) = &self.role.suspension {
            let detail = suspension.detail(self.role.team.name());
            self.reporter.state(suspension.state(), Some(detail));
        }
    }

    /// Ends the member if a shutdown request is agreed. Later mail stays unread.
    async fn shut_down_if_agreed(&mut self) -> Result<Option<Ending>, TeammateError> {
        let Some(request) = self.role.agreed_shutdown() else {
            return Ok(None);
        };
        self.mail.begin_writes();
        self.role.reports.leaves().await;
        self.reporter
            .state(MemberState::Stopping, request.reason.clone());
        let process = &self.role.process;
        let pane = process.pane.clone();
        let (context, team) = (self.context(), &self.role.team);
        let approved = approve_shutdown(context, &**team, &request, pane, &process.backend).await;
        let answered = match approved {
            Ok(()) => self.mail.shutdown_answered().await,
            failed => failed,
        };
        match answered {
            // Who stops a member by force waits for its exit, not for its answer.
            Err(error) if request.force => {
                tracing::warn!(member = %self.mail.context.name, %error, "shutdown not answered");
            }
            answered => answered?,
        }
        self.reporter.state(MemberState::Stopped, None);
        Ok(Some(Ending::ShutDown))
    }
}

/// Sets `isActive` in the roster, for other programs, which read no hub.
async fn set_active(context: &MemberContext, team: &dyn Team, active: bool) {
    if team.is_remote() {
        return;
    }
    if let Err(error) = team.set_active(&context.name, active).await {
        // swarm's state report has the same information.
        tracing::debug!(member = %context.name, %error, "isActive not written");
    }
}
