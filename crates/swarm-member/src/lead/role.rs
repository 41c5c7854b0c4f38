//! The role of a lead: supervises its members and decides when the work of the run is finished.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use swarm_agent::{Injected, TurnOutcome, TurnStop, or_never};
use swarm_protocol::{AgentId, MemberState, TeamConfig};
use swarm_store::{MemberView, TaskList, Team};
use swarm_supervisor::{LeadError, Leadership, Reconciling, begin_reconcile, reconcile_outcome};
use swarm_tools::Caller;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::LeadParts;
use super::collisions::CollisionWatch;
use super::end_deadline::EndDeadline;
use super::mail::{LeadMail, has_unread_report};
use super::report::Outcome;
use super::result_text::ResultText;
use super::settle::{
    Situation, any_failed, is_work_finished, paused_alone, report_request, situation, stalled_text,
};
use super::supervise::Supervisor;
use crate::reporter::{failure, show_unanswered};
use crate::role::{MemberLoop, Recovery, Role, Turn};

/// The message to the lead of a run that lacks its structured output, in the words of Claude Code.
const OUTPUT_REQUEST: &str =
    "You MUST call the StructuredOutput tool to complete this request. Call this tool now.";

/// Whether the lead is asked for its final report when all tasks are closed: its last text may have
/// been written before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FinalReport {
    /// The team has had no teammates.
    NotOwed,
    Owed,
    /// It was asked, once.
    Requested,
}

pub(super) struct LeadRole {
    pub(super) parts: LeadParts,
    pub(super) leadership: Arc<Leadership>,
    pub(super) mail: Arc<LeadMail>,
    supervisor: Supervisor,
    collisions: CollisionWatch,
    pub(super) result: ResultText,
    /// The deadline after the run is stopped.
    pub(super) deadline: Arc<EndDeadline>,
    /// A reconciliation started by an interrupted step.
    pub(super) reconciling: Option<Reconciling>,
    /// The open tasks last reported to the lead as stalled.
    nudged: Option<String>,
    final_report: FinalReport,
    /// The paused members for which the run waits, as last reported.
    told_paused: Option<String>,
    /// Until when the run waits for background commands, when nothing else remains.
    commands_until: Option<Instant>,
    /// The state in which the last turn left the lead, if it failed.
    pub(super) failed_as: Option<MemberState>,
    /// Whether the run has a terminal for input.
    has_person: bool,
    /// Whether the run waits for input, because a person interrupted its last turn.
    awaits_person: bool,
}

impl LeadRole {
    pub(super) fn new(
        parts: LeadParts,
        leadership: Arc<Leadership>,
        mail: Arc<LeadMail>,
        has_person: bool,
    ) -> Self {
        Self {
            supervisor: Supervisor::new(parts.spawn_context.clone()),
            collisions: CollisionWatch::default(),
            parts,
            leadership,
            mail,
            result: ResultText::default(),
            deadline: Arc::default(),
            reconciling: None,
            nudged: None,
            final_report: FinalReport::NotOwed,
            told_paused: None,
            commands_until: None,
            failed_as: None,
            has_person,
            awaits_person: false,
        }
    }

    /// Returns how the run was stopped early, if it was: by a person or by its time limit.
    pub(super) fn cut_short(&self, stop: &CancellationToken) -> Option<Outcome> {
        if !self.parts.stops.stop.is_cancelled() {
            return stop.is_cancelled().then_some(Outcome::TimedOut);
        }
        // An interactive session is ended by the person.
        let is_finished = self.parts.is_interactive && !self.parts.stops.hangup.is_cancelled();
        Some(if is_finished {
            Outcome::Completed
        } else {
            Outcome::Interrupted
        })
    }

    /// Returns whether the run continues only after input from a person.
    fn waits_for_person(&self) -> bool {
        self.parts.is_interactive || self.awaits_person
    }

    fn note_teammates(&mut self, config: &TeamConfig) {
        let has_teammates = config.teammates().next().is_some();
        if has_teammates && self.final_report == FinalReport::NotOwed {
            self.final_report = FinalReport::Owed;
        }
    }

    /// Returns whether the lead must be asked for its final report, if all tasks are closed.
    fn owes_report(&self, tasks: &TaskList) -> bool {
        self.final_report == FinalReport::Owed && !tasks.tasks.is_empty()
    }

    /// Brings the team's records up to date. Returns `false` if it was interrupted by `stop`; the
    /// next call continues it.
    async fn reconcile(
        &mut self,
        team: &Arc<dyn Team>,
        stop: &CancellationToken,
    ) -> Result<bool, LeadError> {
        let under_way = self
            .reconciling
            .get_or_insert_with(|| begin_reconcile(team));
        tokio::select! {
            ended = under_way => {
                self.reconciling = None;
                reconcile_outcome(ended)?;
                Ok(true)
            }
            () = stop.cancelled() => Ok(false),
        }
    }
}

impl Role for LeadRole {
    type End = Outcome;
    type Error = LeadError;
    type TurnEvent = Infallible;

    /// Only the prompt of a run passes through the hooks.
    fn mail_fires_prompt_hooks(&self) -> bool {
        self.parts.is_interactive
    }

    fn lease_lost(&self) -> BoxFuture<'static, ()> {
        let leadership = Arc::clone(&self.leadership);
        async move { leadership.lost().await }.boxed()
    }

    async fn begin_step(member: &mut MemberLoop<Self>) -> Result<Option<Outcome>, LeadError> {
        let cut_short = member.role.cut_short(&member.stop);
        if cut_short.is_none() {
            member.role.leadership.require_lease()?;
        }
        Ok(cut_short)
    }

    async fn idle(member: &mut MemberLoop<Self>) -> Result<Option<Outcome>, LeadError> {
        let Some(team) = member.context().team() else {
            let is_over = !member.sub_agents.is_busy() && !member.role.waits_for_person();
            if is_over && !member.waits_for_commands() {
                return member.complete();
            }
            member.rest().await;
            return Ok(None);
        };
        let config = team.config().await?;
        member
            .role
            .supervisor
            .watch_all(team.name(), config.teammates());
        member.role.note_teammates(&config);
        let before = team.member_view().await?;
        let worktrees = &member.role.parts.spawn_context.worktrees;
        let collisions = &mut member.role.collisions;
        collisions.check(&*team, &config, &before, worktrees).await;
        // After reading the members: a death in that view is then reported by mail.
        if !member.role.reconcile(&team, &member.stop).await? {
            return Ok(None);
        }
        // Before the mail is read: the message about a member that has left by now is in it.
        let was_leaving = member.role.mail.is_member_leaving();
        // After the members' states: a member's last mail is in the inbox before it reports that it
        // is idle.
        if member.receive_again().await? {
            return Ok(None);
        }
        let tasks = team.tasks().await?;
        let after = team.member_view().await?;
        let is_leaving = was_leaving || member.role.mail.is_member_leaving();
        let waits_for_person = member.role.waits_for_person();
        if !is_leaving && !member.sub_agents.is_busy() && !waits_for_person {
            match situation(&before, &tasks, &after) {
                Situation::Done | Situation::Stalled if member.waits_for_commands() => {}
                Situation::Done if member.role.owes_report(&tasks) => {
                    return member.ask_for_report(&tasks);
                }
                Situation::Done if any_failed(&tasks) => return Ok(Some(Outcome::TasksFailed)),
                Situation::Done => return member.complete(),
                Situation::Stalled => return member.nudge(&tasks),
                Situation::Moving => return Ok(None),
                Situation::Busy => member.report_paused(&*team, &after),
            }
        }
        member.rest().await;
        Ok(None)
    }

    async fn changed(&mut self) {
        let waited_enough = self.commands_until.map(tokio::time::sleep_until);
        tokio::select! {
            () = or_never(waited_enough) => {}
            () = self.leadership.lost() => {}
            () = self.supervisor.changed() => {}
            () = self.mail.departed.notified() => {}
            () = self.mail.plan_is_due() => {}
        }
    }

    async fn idle_state(&mut self) -> (MemberState, Option<String>) {
        let detail = if self.parts.is_interactive {
            Some("waiting for a prompt")
        } else {
            self.awaits_person.then_some("interrupted by a person")
        };
        (MemberState::Idle, detail.map(str::to_owned))
    }

    async fn turn_begins(&mut self, _turn: &Turn) {
        self.awaits_person = false;
        self.commands_until = None;
    }

    async fn turn_event(&mut self, _turn: &Turn) -> Infallible {
        pending().await
    }

    async fn on_turn_event(&mut self, _turn: &Turn, event: Infallible) {
        match event {}
    }

    /// Frames are handled immediately; messages wait.
    async fn on_turn_mail(&mut self, turn: &Turn) {
        if let Err(error) = turn.mail.take().await {
            tracing::warn!(%error, "cannot read the lead's mail");
        }
    }

    async fn turn_ended(
        member: &mut MemberLoop<Self>,
        outcome: TurnOutcome,
    ) -> Result<Option<Outcome>, LeadError> {
        // Without it nothing can be recorded, and the hub may be out of reach.
        member.role.leadership.require_lease()?;
        member.update_caller();
        member.journal_turn(&outcome).await;
        show_unanswered(member.context(), &member.reporter).await;
        let is_finished = member.is_work_finished().await?;
        let role = &mut member.role;
        if role.mail.person_wrote() {
            role.result.is_provisional();
        }
        role.result.turn_ended(&outcome.text, is_finished);
        let is_interrupted = matches!(outcome.end, Err(TurnStop::Interrupted));
        let is_run = !role.parts.is_interactive;
        if is_interrupted && is_run && role.has_person && !member.stop.is_cancelled() {
            role.awaits_person = true;
            let line = "type what to do instead; the run ends with Ctrl-D";
            member.reporter.notice(line);
        }
        let failure = failure(&outcome);
        role.failed_as = failure.as_ref().map(|(state, _)| *state);
        let end = match outcome.end {
            Err(TurnStop::Failed(error)) => Some(Outcome::LeadFailed(error.to_string())),
            Err(TurnStop::Limit) => Some(Outcome::LeadFailed(outcome.text)),
            Err(TurnStop::Halted(why)) => Some(Outcome::StoppedByHook(why)),
            Ok(()) | Err(TurnStop::Interrupted | TurnStop::Suspended) => None,
        };
        let failed = end.as_ref().and_then(Outcome::failure);
        let state = failure
            .or_else(|| failed.map(|why| (MemberState::Failed, why)))
            .map(|(state, why)| (state, Some(why)));
        let state = match state {
            Some(state) => state,
            None => member.role.idle_state().await,
        };
        member.report(state);
        // In an interactive session, the person sees the error and decides how to continue.
        Ok(end.filter(|_| is_run))
    }

    fn recovery(error: &LeadError) -> Recovery<Outcome> {
        match error {
            // Another process holds a lock. Nothing is lost: the write is retried later.
            error if error.is_lock_timeout() => Recovery::Retry,
            _ => Recovery::Fail,
        }
    }
}

impl MemberLoop<LeadRole> {
    /// Tells the transcript and the tools of a team that was created or deleted during a turn.
    fn update_caller(&mut self) {
        let team = self.context().team().map(|team| team.name().clone());
        if self.session.parts().tool_context.caller.team != team {
            let name = self.context().name.clone();
            self.session.set_caller(Caller {
                agent_id: team.clone().map(|team| AgentId::new(name.clone(), team)),
                name,
                team,
            });
        }
    }

    /// Returns whether the run waits for background commands, because the lead expects a notice
    /// when they finish. The wait is limited, since a server never finishes, and starts when
    /// nothing else remains.
    fn waits_for_commands(&mut self) -> bool {
        let commands = self.sub_agents.commands();
        if commands.is_empty() {
            self.role.commands_until = None;
            return false;
        }
        let wait = self.role.parts.command_wait;
        if self.role.commands_until.is_none() {
            self.role.result.is_provisional();
            self.reporter.notice(format!(
                "the run waits up to {} s for background commands: {}",
                wait.as_secs(),
                commands.join(", ")
            ));
        }
        let until = self
            .role
            .commands_until
            .get_or_insert(Instant::now() + wait);
        Instant::now() < *until
    }

    /// Reports once that the run waits for members that only a person can continue.
    fn report_paused(&mut self, team: &dyn Team, members: &[MemberView]) {
        let paused = paused_alone(members);
        if let Some(names) = paused.as_ref().filter(|_| paused != self.role.told_paused) {
            self.reporter.notice(format!(
                "the run waits for paused members: {names}; `swarm continue NAME --team {}` continues one",
                team.name()
            ));
        }
        self.role.told_paused = paused;
    }

    /// Tells the lead once that no member works on the open tasks. The run ends if that changes
    /// nothing.
    fn nudge(&mut self, tasks: &TaskList) -> Result<Option<Outcome>, LeadError> {
        let text = stalled_text(tasks, self.context().handoff_scan());
        if self.role.nudged.as_ref() == Some(&text) {
            return Ok(Some(Outcome::Stalled));
        }
        self.reporter
            .notice("stalled: all agents are idle and tasks are open");
        self.session.deliver(vec![Injected::system(&text)])?;
        self.role.nudged = Some(text);
        Ok(None)
    }

    /// Asks the lead for the text that the run returns as its result.
    fn ask_for_report(&mut self, tasks: &TaskList) -> Result<Option<Outcome>, LeadError> {
        self.reporter
            .notice("all tasks are closed: asking the lead for its final report");
        let request = Injected::system(&report_request(tasks, self.context().handoff_scan()));
        self.session.deliver(vec![request])?;
        self.role.final_report = FinalReport::Requested;
        self.role.result.is_provisional();
        Ok(None)
    }

    /// Ends a run whose work is finished, once it has its structured output.
    fn complete(&mut self) -> Result<Option<Outcome>, LeadError> {
        let Some(output) = &self.role.parts.output else {
            return Ok(Some(Outcome::Completed));
        };
        if output.value().is_some() {
            return Ok(Some(Outcome::Completed));
        }
        if !output.may_ask() {
            let why = "it returned no output that matches the JSON schema".to_owned();
            return Ok(Some(Outcome::LeadFailed(why)));
        }
        let request = Injected::system(OUTPUT_REQUEST);
        self.session.deliver(vec![request])?;
        Ok(None)
    }

    /// Returns whether the work of the run is finished according to the team's files.
    async fn is_work_finished(&self) -> Result<bool, LeadError> {
        if self.sub_agents.is_busy() {
            return Ok(false);
        }
        let context = self.context();
        let Some(team) = context.team() else {
            return Ok(true);
        };
        Ok(is_work_finished(
            &team.tasks().await?,
            &team.member_view().await?,
            has_unread_report(context, &*team).await?,
        ))
    }
}
