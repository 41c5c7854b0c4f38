//! The loop of a headless lead.

use std::sync::Arc;
use std::time::{Duration, Instant};

use swarm_engine::{Injected, Session, SubAgents, TurnOutcome, told_by_hooks};
use swarm_fs::{NameFilter, Subscription};
use swarm_mcp::ProcessServers;
use swarm_policy::HookEvent;
use swarm_protocol::{AgentId, Event, LEAD_NAME, MemberState, TeamName};
use swarm_store::{MemberView, TaskList};
use swarm_team::Seat;
use swarm_tools::{Caller, processes};

use super::LeadParts;
use super::assemble::{Assembled, assemble};
use super::desk::LeadDesk;
use super::farewell::{end_members, left_worktrees, take_stock};
use super::report::{Outcome, RunReport};
use super::reporter::Reporter;
use super::servers;
use super::settle::{Situation, any_failed, paused_alone, situation, stalled_text};
use super::turn::run_turn;
use crate::reconcile::{self, Reconciling};
use crate::stop::end_leftovers_of_lead;
use crate::supervise::Supervisor;
use crate::{Handover, LeadError, Leadership, bring_back, handover, implicit_team_name};

/// How long hooks of the end of a session may take.
const END_HOOKS: Duration = Duration::from_secs(10);

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
        last_text: String::new(),
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
    last_text: String,
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

    /// Lets hooks know that the session is over.
    async fn tell_of_end(&self, outcome: &Outcome) {
        let reason = outcome.word();
        let fields = serde_json::json!({"reason": reason});
        let fired = self.session.fire(
            HookEvent::SessionEnd,
            Some(reason),
            fields,
            &self.parts.kill,
        );
        if tokio::time::timeout(END_HOOKS, fired).await.is_err() {
            self.reporter
                .notice("hook SessionEnd: took too long and was ended");
        }
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

    /// Waits for mail, for the end of a member, and for the end of a sub-agent.
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
            .get_or_insert_with(|| reconcile::begin(store, team));
        tokio::select! {
            ended = under_way => {
                self.reconciling = None;
                reconcile::outcome(ended)?;
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

    /// Takes mail into the transcript; tells whether there was any.
    fn receive(&mut self) -> Result<bool, LeadError> {
        let has_ended = self.sub_agents.deliver_to(&mut self.session)?;
        self.watch_inbox();
        let messages = self.desk.take()?;
        if messages.is_empty() {
            return Ok(has_ended);
        }
        let delivery = self.session.deliver(self.desk.inject(&messages))?;
        let ids: Vec<_> = delivery
            .added
            .iter()
            .chain(&delivery.known)
            .cloned()
            .collect();
        self.desk.delivered_now(&ids)?;
        Ok(has_ended || !delivery.added.is_empty())
    }

    /// Notes a team that was founded meanwhile: the transcript and the tools name it from the next line on.
    fn note_team(&mut self) {
        let team = self.seat.team();
        if self.session.parts().tool_context.caller.team != team {
            self.session.set_caller(Caller {
                name: self.seat.name.clone(),
                agent_id: team
                    .clone()
                    .map(|team| AgentId::new(self.seat.name.clone(), team)),
                team,
            });
        }
    }

    /// Watches the inbox of the present team, which may be another than before.
    fn watch_inbox(&mut self) {
        let team = self.seat.team();
        if self.watched == team {
            return;
        }
        self.inbox = team.as_ref().map(|team| {
            let dep = &self.parts.deployment;
            let filter = NameFilter::Exact(vec![format!("{LEAD_NAME}.json").into()]);
            dep.watcher.subscribe(&dep.store.inbox_folder(team), filter)
        });
        self.watched = team;
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
        if !outcome.text().trim().is_empty() {
            outcome.text().clone_into(&mut self.last_text);
        }
        self.reporter.state(MemberState::Idle, None);
        Ok(match outcome {
            TurnOutcome::Failed { error, .. } => Some(Outcome::LeadFailed(error.to_string())),
            TurnOutcome::TurnLimit { text, .. } => Some(Outcome::LeadFailed(text)),
            TurnOutcome::Finished { .. }
            | TurnOutcome::Interrupted { .. }
            | TurnOutcome::Suspended { .. } => None,
        })
    }

    /// Ends the members, takes stock, and gives up the lead.
    async fn finish(&mut self, outcome: Outcome, started: Instant) -> Result<RunReport, LeadError> {
        self.sub_agents.shut_down().await;
        let mut usage = self.session.totals().usage;
        usage += *self.reporter.of_sub_agents();
        self.tell_of_end(&outcome).await;
        let mut report = RunReport {
            outcome,
            result: std::mem::take(&mut self.last_text),
            team: self.seat.team(),
            tasks: Vec::new(),
            members: Vec::new(),
            worktrees: Vec::new(),
            usage,
            duration_ms: 0,
        };
        let closed = match report.team.clone() {
            Some(team) => self.close(&team, &mut report).await,
            None => Ok(()),
        };
        if let Some(servers) = self.servers.take() {
            servers.close().await;
        }
        let dep = &self.parts.deployment;
        processes::end_marked(
            crate::census::MARK,
            &dep.spawn_id.to_string(),
            dep.kill_grace,
        )
        .await;
        report.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        closed.map(|()| report)
    }

    /// Each step is taken whatever became of the others; the first failure is told.
    async fn close(&mut self, team: &TeamName, report: &mut RunReport) -> Result<(), LeadError> {
        let dep = &self.parts.deployment;
        self.reporter.state(MemberState::Stopping, None);
        let ended = match end_members(dep, team, &self.parts.kill, |line| {
            self.reporter.notice(line);
        })
        .await
        {
            Ok(ended) => ended
                .failed
                .into_iter()
                .next()
                .map_or(Ok(()), |(_, e)| Err(e)),
            Err(error) => Err(error),
        };
        // Frames that came meanwhile are the program's to clear away; what was written to the lead stays unread.
        if let Err(error) = self.desk.take() {
            tracing::warn!(%team, %error, "mail of the lead not read");
        }
        if ended.is_ok() {
            // One that cannot be ended would be waited for for ever.
            self.desk.partings.close();
            self.desk.partings.wait().await;
        }
        if let Some(under_way) = self.reconciling.take()
            && let Err(error) = reconcile::outcome(under_way.await)
        {
            tracing::warn!(%team, %error, "records of the team not in line");
        }
        report.worktrees = left_worktrees(dep, team).await;
        let stock = take_stock(&*dep.store, team, report);
        self.reporter.state(MemberState::Stopped, None);
        let resigned = self.leadership.resign();
        ended.and(stock)?;
        resigned?;
        if self.parts.remove_team {
            dep.store.delete_team(team, true, true)?;
        }
        Ok(())
    }
}
