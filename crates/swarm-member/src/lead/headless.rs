//! The loop of a headless lead.

mod finish;
mod mail;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use swarm_engine::{Injected, Session, SubAgents, TurnOutcome, told_by_hooks};
use swarm_fs::Subscription;
use swarm_mcp::ProcessServers;
use swarm_policy::HookEvent;
use swarm_protocol::{Event, MemberState, TeamName};
use swarm_store::{MemberView, TaskList};
use swarm_team::Seat;

use super::LeadParts;
use super::assemble::{Assembled, assemble};
use super::desk::LeadDesk;
use super::report::{Outcome, RunReport};
use super::result_text::ResultText;
use super::servers;
use super::settle::{
    Situation, any_failed, is_work_finished, paused_alone, situation, stalled_text,
};
use super::turn::run_turn;
use crate::reporter::Reporter;

use crate::lead::supervise::Supervisor;
use swarm_supervisor::end_leftovers_of_lead;
use swarm_supervisor::{
    Handover, LeadError, Leadership, Reconciling, begin_reconcile, bring_back, handover,
    implicit_team_name, reconcile_outcome,
};

/// Runs a lead from its prompt to the end of its work. Members that are still there are shut down; team and tasks
/// are kept unless asked otherwise.
///
/// # Errors
/// [`LeadError`] when the team's files or the transcript cannot be used. A failure of the agent is an outcome.
pub async fn run_headless(mut parts: LeadParts, prompt: String) -> Result<RunReport, LeadError> {
    let started = Instant::now();
    let implicit = match &parts.team {
        Some(team) => team.clone(),
        // A session id is hex digits, which every name may hold.
        None => implicit_team_name(parts.session).map_err(LeadError::Name)?,
    };
    let servers = servers::start(&mut parts).await;
    let leadership = Arc::new(Leadership::new(
        parts.deployment.clone(),
        parts.session,
        implicit,
        parts.deployment.model.clone(),
    ));
    let taken = match &parts.team {
        Some(team) if parts.takes_over => {
            end_leftovers_of_lead(&parts.deployment, team).await?;
            leadership.take_over(team.clone())?;
            Some(handover(&*parts.deployment.store, team)?)
        }
        Some(_) => {
            swarm_team::Founder::found(&*leadership)?;
            None
        }
        None => None,
    };
    let Assembled {
        session,
        seat,
        desk,
        reporter,
        sub_agents,
    } = assemble(&parts, &leadership, &servers)?;
    for problem in servers.problems() {
        reporter.notice(problem.to_string());
    }
    let mut run = Run {
        supervisor: Supervisor::new(parts.deployment.clone()),
        parts,
        leadership,
        session,
        seat,
        desk,
        reporter,
        sub_agents,
        servers: Some(servers),
        inbox: None,
        watched: None,
        result: ResultText::default(),
        reconciling: None,
        nudged: None,
        told_paused: None,
    };
    match run.carry_out(taken.as_ref(), prompt).await {
        Ok(outcome) => run.finish(outcome, started).await,
        Err(error) => {
            // Its members do not outlive it; the team is kept to be looked at.
            run.parts.remove_team = false;
            let outcome = Outcome::LeadFailed(error.to_string());
            if let Err(second) = run.finish(outcome, started).await {
                tracing::error!(error = %second, "the end of a failed run");
            }
            Err(error)
        }
    }
}

struct Run {
    parts: LeadParts,
    leadership: Arc<Leadership>,
    session: Session,
    seat: Arc<Seat>,
    desk: Arc<LeadDesk>,
    reporter: Arc<Reporter>,
    sub_agents: Arc<SubAgents>,
    servers: Option<ProcessServers>,
    supervisor: Supervisor,
    inbox: Option<Subscription>,
    /// Whose inbox that is.
    watched: Option<TeamName>,
    result: ResultText,
    /// Begun by a step that was cut.
    reconciling: Option<Reconciling>,
    /// The state of the task list when the lead was last told that everybody waits.
    nudged: Option<String>,
    /// Who is paused and holds the run up, as it was last said.
    told_paused: Option<String>,
}

impl Run {
    /// Everything that the lead does until its work is over.
    async fn carry_out(
        &mut self,
        taken: Option<&Handover>,
        prompt: String,
    ) -> Result<Outcome, LeadError> {
        if let Some(taken) = taken {
            self.take_up(taken).await?;
        }
        self.work(prompt).await
    }

    /// Enters into the conversation how the team stands, and brings dead members back if that was asked for.
    async fn take_up(&mut self, taken: &Handover) -> Result<(), LeadError> {
        let mut back = Vec::new();
        if self.parts.brings_back {
            for dead in &taken.dead {
                let name = &dead.member.name;
                if dead.stopped_by_person {
                    self.reporter.notice(format!(
                        "{name} was stopped by a person and is not started again"
                    ));
                    continue;
                }
                let cancel = self.parts.stop.child_token();
                match bring_back(&self.parts.deployment, &taken.team, dead, cancel).await {
                    Ok(_) => back.push(name.clone()),
                    Err(error) => self
                        .reporter
                        .notice(format!("{name} could not be spawned again: {error}")),
                }
            }
        }
        let message = swarm_protocol::Envelope::system(&taken.for_the_lead(&back)).render();
        self.session.deliver(vec![Injected::prompt(message)])?;
        Ok(())
    }

    async fn work(&mut self, prompt: String) -> Result<Outcome, LeadError> {
        if let Some(why) = self.begin(prompt).await? {
            if self.parts.stop.is_cancelled() {
                return Ok(Outcome::Interrupted);
            }
            return Ok(Outcome::LeadFailed(format!(
                "a hook withheld the prompt: {why}"
            )));
        }
        let interrupted = self.parts.stop.clone();
        let end = self
            .parts
            .timeout
            .map(|timeout| tokio::time::Instant::now() + timeout);
        let time_up = async move {
            match end {
                Some(end) => tokio::time::sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(time_up);
        loop {
            // The turn itself is cut by the same two, through a token of its own.
            let cut = interrupted.child_token();
            let step = self.step(&cut);
            tokio::pin!(step);
            let done = tokio::select! {
                done = &mut step => done?,
                () = &mut time_up => {
                    cut.cancel();
                    step.await?;
                    return Ok(Outcome::TimedOut);
                }
            };
            if interrupted.is_cancelled() {
                return Ok(Outcome::Interrupted);
            }
            if let Some(outcome) = done {
                return Ok(outcome);
            }
        }
    }

    /// Lets hooks know of the session and read its prompt; tells why they withheld it.
    async fn begin(&mut self, prompt: String) -> Result<Option<String>, LeadError> {
        let stop = self.parts.stop.clone();
        let source = if self.parts.takes_over {
            "resume"
        } else {
            "startup"
        };
        let fields = serde_json::json!({"source": source});
        let event = HookEvent::SessionStart;
        let outcome = self.session.fire(event, Some(source), fields, &stop).await;
        self.session
            .deliver(told_by_hooks(&outcome).into_iter().collect())?;
        let prompt = vec![Injected::prompt(prompt)];
        let submitted = self.session.submit(Vec::new(), prompt, &stop).await?;
        Ok(submitted.withheld.into_iter().next().map(|one| one.why))
    }

    /// One turn, or one wait.
    async fn step(
        &mut self,
        cut: &tokio_util::sync::CancellationToken,
    ) -> Result<Option<Outcome>, LeadError> {
        self.receive()?;
        if self.session.needs_turn() {
            return self.turn(cut).await;
        }
        let Some(team) = self.seat.team() else {
            if !self.sub_agents.is_busy() {
                return Ok(Some(Outcome::Completed));
            }
            self.rest_in_background();
            tokio::select! {
                () = self.sub_agents.changed() => {}
                () = cut.cancelled() => {}
            }
            return Ok(None);
        };
        let store = Arc::clone(&self.parts.deployment.store);
        self.supervisor
            .watch_all(&team, store.config(&team)?.teammates());
        let before = store.member_view(&team)?;
        // After the look: whoever is dead in it has been told of when the mail is read.
        if !self.reconcile(&team, cut).await? {
            return Ok(None);
        }
        // Before the mail is read: the word of one that has left by now is in it.
        let was_parting = self.desk.is_parting();
        // Read after the members' states: a member's last mail is in the inbox before it says that it is idle.
        if self.receive()? {
            return Ok(None);
        }
        let tasks = store.tasks(&team)?;
        let after = store.member_view(&team)?;
        if self.sub_agents.is_busy() {
            self.rest_in_background();
            self.wait(cut).await;
            return Ok(None);
        }
        if was_parting || self.desk.is_parting() {
            self.wait(cut).await;
            return Ok(None);
        }
        match situation(&before, &tasks, &after) {
            Situation::Done if any_failed(&tasks) => return Ok(Some(Outcome::TasksFailed)),
            Situation::Done => return Ok(Some(Outcome::Completed)),
            Situation::Stalled => return self.nudge(&tasks),
            Situation::Moving => return Ok(None),
            Situation::Busy => self.tell_of_paused(&team, &after),
        }
        self.wait(cut).await;
        Ok(None)
    }

    /// Waits for mail, for the end of a member or its departure, and for the end of a sub-agent.
    async fn wait(&mut self, cut: &tokio_util::sync::CancellationToken) {
        let inbox = async {
            match self.inbox.as_mut() {
                Some(inbox) => inbox.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = inbox => {}
            () = self.supervisor.changed() => {}
            () = self.desk.parted.notified() => {}
            () = self.sub_agents.changed() => {}
            () = cut.cancelled() => {}
        }
    }

    /// The lead has nothing to do itself but wait for its sub-agents.
    fn rest_in_background(&self) {
        let names = self.sub_agents.background().join(", ");
        self.reporter.state(MemberState::Background, Some(names));
    }

    /// Says once that the run waits for members that do nothing until a person lets them go on.
    fn tell_of_paused(&mut self, team: &TeamName, members: &[MemberView]) {
        let paused = paused_alone(members);
        if let Some(names) = paused.as_ref().filter(|_| paused != self.told_paused) {
            self.reporter.notice(format!(
                "the run waits: paused is {names}; `swarm continue NAME --team {team}` lets a member go on"
            ));
        }
        self.told_paused = paused;
    }

    /// Brings the team's records in line; `false` when the step is cut before that is done.
    async fn reconcile(
        &mut self,
        team: &TeamName,
        cut: &tokio_util::sync::CancellationToken,
    ) -> Result<bool, LeadError> {
        let store = &self.parts.deployment.store;
        let under_way = self
            .reconciling
            .get_or_insert_with(|| begin_reconcile(store, team));
        tokio::select! {
            ended = under_way => {
                self.reconciling = None;
                reconcile_outcome(ended)?;
                Ok(true)
            }
            () = cut.cancelled() => Ok(false),
        }
    }

    /// Tells the lead once that everybody waits; the second time with nothing changed is the end.
    fn nudge(&mut self, tasks: &TaskList) -> Result<Option<Outcome>, LeadError> {
        let text = stalled_text(tasks);
        if self.nudged.as_ref() == Some(&text) {
            return Ok(Some(Outcome::Stalled));
        }
        self.reporter.notice("everybody is idle but tasks are open");
        let message = swarm_protocol::Envelope::system(&text).render();
        self.session.deliver(vec![Injected::prompt(message)])?;
        self.nudged = Some(text);
        Ok(None)
    }

    /// Whether the work of the run is finished as far as the files tell.
    fn is_work_finished(&self) -> Result<bool, LeadError> {
        if self.sub_agents.is_busy() {
            return Ok(false);
        }
        let Some(team) = self.seat.team() else {
            return Ok(true);
        };
        let store = &self.parts.deployment.store;
        Ok(is_work_finished(
            &store.tasks(&team)?,
            &store.member_view(&team)?,
            self.desk.has_unread_report()?,
        ))
    }

    async fn turn(
        &mut self,
        cut: &tokio_util::sync::CancellationToken,
    ) -> Result<Option<Outcome>, LeadError> {
        let outcome = run_turn(&mut self.session, &self.desk, &mut self.inbox, cut).await;
        self.watch_inbox();
        self.note_team();
        if let Some(team) = self.seat.team() {
            self.parts.deployment.store.journal(
                &team,
                Event::TurnEnded {
                    member: self.seat.name.clone(),
                    outcome: outcome.word().to_owned(),
                    usage: outcome.spent().usage,
                    model: self.parts.deployment.model.clone(),
                },
            )?;
        }
        let is_work_finished = self.is_work_finished()?;
        if self.desk.person_wrote.swap(false, Ordering::Relaxed) {
            self.result.person_wrote();
        }
        self.result.turn_ended(outcome.text(), is_work_finished);
        self.reporter.state(MemberState::Idle, None);
        Ok(match outcome {
            TurnOutcome::Failed { error, .. } => Some(Outcome::LeadFailed(error.to_string())),
            TurnOutcome::TurnLimit { text, .. } => Some(Outcome::LeadFailed(text)),
            TurnOutcome::StoppedByHook { why, .. } => Some(Outcome::StoppedByHook(why)),
            TurnOutcome::Finished { .. }
            | TurnOutcome::Interrupted { .. }
            | TurnOutcome::Suspended { .. } => None,
        })
    }
}
