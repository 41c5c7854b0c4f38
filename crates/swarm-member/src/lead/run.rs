//! Running a lead from start to end.

use std::future::Future;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use swarm_mcp::ProcessServers;
use swarm_protocol::{MemberName, MemberState, TeamName};
use swarm_store::{BlockOn as _, StoreError, Team, TeamStore};
use swarm_supervisor::{
    LeadError, Leadership, SpawnError, TeamStopReport, end_processes_of_spawn, handover,
    implicit_team_name, reconcile_outcome,
};
use swarm_team::{TeamCreator, end_requests_of_former_leads, team_rules};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::member_loop::END_HOOKS;
use crate::role::MemberLoop;

use super::assemble::{assemble, start_mcp};
use super::report::{Outcome, RunReport};
use super::role::LeadRole;
use super::run_end::{
    EarlyEnd, end_members, left_worktrees, limit_lock_waits, outlived, take_stock,
};
use super::{Beginning, LeadParts};

/// How long sub-agents, background commands and MCP servers may take to stop.
const ENDING: Duration = Duration::from_secs(2);

/// Runs a lead from its prompt to the end of its work, or until a person ends an interactive
/// session. Remaining members are shut down; team and tasks are kept unless requested otherwise.
///
/// # Errors
/// [`LeadError`] if the team's files or the transcript are unusable. A failure of the agent is an
/// [`Outcome`].
pub async fn run_lead(
    mut parts: LeadParts,
    prompt: Option<String>,
) -> Result<RunReport, LeadError> {
    let stop = parts.stops.stop.child_token();
    let store = limit_lock_waits(&mut parts, stop.clone());
    let in_process = parts.spawn_context.terminal.in_process.clone();
    let lead = async move {
        let report = Box::pin(run(parts, store, stop, prompt)).await;
        // Teammates that were left to the next lead end with this process.
        if let Some(host) = in_process {
            host.stop_all().await;
        }
        report
    };
    let done = on_own_thread(lead).await;
    done.map_err(|error| {
        let why = format!("the event loop of its thread: {error}");
        SpawnError::Runtime(why).of(&MemberName::lead())
    })?
}

async fn run(
    mut parts: LeadParts,
    store: Arc<dyn TeamStore>,
    stop: CancellationToken,
    prompt: Option<String>,
) -> Result<RunReport, LeadError> {
    let started = Instant::now();
    let implicit = match &parts.team {
        Some(team) => team.clone(),
        // A session ID consists of hex digits, which are valid in names.
        None => implicit_team_name(parts.session).map_err(LeadError::Name)?,
    };
    let servers = start_mcp(&mut parts).await;
    let leadership = Arc::new(Leadership::new(
        parts.spawn_context.clone(),
        parts.session,
        implicit,
        parts.spawn_context.runtime.model.clone(),
    ));
    let taken = match &parts.team {
        Some(team) if parts.beginning != Beginning::New => {
            parts.spawn_context.team(team).clean_up_after_lead().await?;
            leadership.take_over(team.clone())?;
            let team = parts.spawn_context.store.team(team);
            end_requests_of_former_leads(&*team).await?;
            // A person has granted them to the team.
            let key = team.verify_key().await?;
            parts.rules.extend(team_rules(&*team, key.as_ref()).await?);
            Some(handover(&*team)?)
        }
        Some(_) => {
            leadership.create_team()?;
            None
        }
        None => None,
    };
    let mut member = assemble(parts, store, leadership, &servers, stop)?;
    for problem in &servers.main.problems {
        member.reporter.notice(problem.to_string());
    }
    let early = member.follow_stop();
    let listening = member.listen();
    let merging = member.carry_out_merges();
    let worked = member.work(taken, prompt).await;
    member.mail.finish_writes().await;
    drop((listening, merging));
    match worked {
        Ok(outcome) => member.finish(outcome, early, servers, started).await,
        Err(error) => {
            // Its members do not outlive it; the team is kept for inspection.
            member.role.parts.remove_team = false;
            let outcome = Outcome::LeadFailed(error.to_string());
            if let Err(second) = member.finish(outcome, early, servers, started).await {
                tracing::error!(error = %second, "cannot clean up after a failed run");
            }
            Err(error)
        }
    }
}

impl MemberLoop<LeadRole> {
    /// Stops the members or leaves them to another lead, writes the report, and gives up the lead.
    /// In a stopped run, all steps share the deadline; otherwise hooks finish first. `early` are
    /// members that are already stopping.
    async fn finish(
        &mut self,
        outcome: Outcome,
        early: EarlyEnd,
        servers: ProcessServers,
        started: Instant,
    ) -> Result<RunReport, LeadError> {
        // From here on members are stopped below.
        let early = self.stop.is_cancelled().then_some(early);
        let deadline = Arc::clone(&self.role.deadline);
        let (ending, hooks) = match &early {
            Some(_) => (deadline.within(ENDING), deadline.within(END_HOOKS)),
            None => (ENDING, END_HOOKS),
        };
        self.sub_agents.shut_down(ending).await;
        let mut usage = self.session.totals().usage;
        usage += self.reporter.of_sub_agents();
        self.end_session(outcome.word(), &self.role.parts.stops.kill, hooks)
            .await;
        deadline.begin();
        let mut report = RunReport {
            outcome,
            stop_reason: self.session.stop_reason().map(str::to_owned),
            result: self.role.result.take(),
            structured_output: (self.role.parts.output.as_ref()).and_then(|output| output.value()),
            session: self.role.parts.session,
            model: self.model.clone(),
            team: self.context().team().map(|team| team.name().clone()),
            tasks: Vec::new(),
            members: Vec::new(),
            worktrees: Vec::new(),
            unrecorded: None,
            usage,
            usd: None,
            unpriced_tokens: 0,
            duration_ms: 0,
        };
        let team = report.team.clone();
        let is_fenced_off = self.role.leadership.require_lease().is_err();
        let leaves_team = is_fenced_off || self.leaves_team(&report.outcome);
        let ending = async {
            // The members of a lead that is fenced off have parked, and nothing of the team can be
            // changed.
            match team.filter(|_| !is_fenced_off) {
                Some(team) if leaves_team => self.leave(&team, &mut report).await,
                Some(team) => self.close(&team, early, &mut report).await,
                None => {
                    self.add_cost(&mut report);
                    Ok(())
                }
            }
        };
        // Slower processes are terminated below.
        let closing = tokio::time::timeout(deadline.within(ENDING), servers.close());
        let (closed, _) = tokio::join!(ending, closing);
        let dep = &self.role.parts.spawn_context;
        end_processes_of_spawn(dep, dep.spawn_id, deadline.within(dep.kill_grace)).await;
        if !leaves_team {
            self.remove_empty_scratchpad();
        }
        report.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        match closed {
            // The team's next program records it.
            Err(error) if error.is_lock_timeout() => report.unrecorded = Some(error.to_string()),
            closed => closed?,
        }
        Ok(report)
    }

    /// Returns whether the members outlive this lead: it stops before the work is done, and the
    /// team was not stopped.
    fn leaves_team(&self, outcome: &Outcome) -> bool {
        let is_unfinished = matches!(outcome, Outcome::TimedOut | Outcome::Interrupted);
        is_unfinished && outlived(&self.role.parts)() && !self.is_alone()
    }

    /// Returns whether an interactive lead has no teammates and no tasks, so that its team needs no
    /// other lead. A team that cannot be read counts as one with teammates.
    fn is_alone(&self) -> bool {
        let is_empty = |team: &dyn Team| -> Result<bool, StoreError> {
            let has_mates = team.config().block_on()?.teammates().next().is_some();
            Ok(!has_mates && team.tasks().block_on()?.tasks.is_empty())
        };
        let team = self.context().team();
        self.role.parts.is_interactive
            && team.is_some_and(|team| is_empty(&*team).unwrap_or_default())
    }

    /// Removes a scratchpad in which nothing was left.
    fn remove_empty_scratchpad(&self) {
        let agent_config = &self.role.parts.spawn_context.definition.config;
        if let Some(scratchpad) = &agent_config.scratchpad
            && let Err(error) = std::fs::remove_dir(scratchpad)
        {
            // It may have files.
            tracing::debug!(path = %scratchpad.display(), %error, "scratchpad not removed");
        }
    }

    fn add_cost(&self, report: &mut RunReport) {
        report.add_cost(&self.role.parts.services.spending.since_start());
    }

    /// Leaves the team as the death of a lead would: its process stays in the roster, so that
    /// running members park as soon as its life lock is released, and `swarm resume` finds
    /// everyone.
    async fn leave(&self, team: &TeamName, report: &mut RunReport) -> Result<(), LeadError> {
        self.reporter.written().await;
        let dep = &self.role.parts.spawn_context;
        report.worktrees = left_worktrees(dep.team(team)).await;
        self.add_cost(report);
        take_stock(&*dep.store.team(team), report)
    }

    /// Stops the members and gives up the lead. Every step is taken even if one fails; the first
    /// failure is returned.
    async fn close(
        &mut self,
        team: &TeamName,
        early: Option<EarlyEnd>,
        report: &mut RunReport,
    ) -> Result<(), LeadError> {
        self.reporter.state(MemberState::Stopping, None);
        let ended = self.stop_members(team, early).await;
        let role = &mut self.role;
        let dep = &role.parts.spawn_context;
        // The program handles the frames that came meanwhile; messages to the lead stay unread.
        if let Err(error) = self.mail.take().await {
            tracing::warn!(%team, %error, "cannot read the lead's mail");
        }
        if ended.is_ok() {
            // A member that cannot be stopped would block deletion.
            role.mail.wait_for_departures().await;
        }
        if let Some(under_way) = role.reconciling.take()
            && let Err(error) = reconcile_outcome(under_way.await)
        {
            tracing::warn!(%team, %error, "team not reconciled");
        }
        report.worktrees = left_worktrees(dep.team(team)).await;
        let cost = role.parts.services.spending.since_start();
        report.add_cost(&cost);
        let stock = take_stock(&*dep.store.team(team), report);
        // Its last report, which is shown until another lead has taken over.
        match report.outcome.failure() {
            Some(why) => {
                let state = role.failed_as.unwrap_or(MemberState::Failed);
                self.reporter.state(state, Some(why));
            }
            None => self.reporter.state(MemberState::Stopped, None),
        }
        self.reporter.written().await;
        let resigned = role.leadership.resign();
        ended.and(stock)?;
        resigned?;
        let requests = self.session.totals().requests;
        if role.parts.remove_team {
            dep.store.team(team).delete(true, true).await?;
        } else if is_unused(&role.parts, team, requests, report)
            && handover(&*dep.store.team(team))?.unread == Some(0)
        {
            // A member may be about to join; the team is kept then.
            match dep.store.team(team).delete(false, false).await {
                Err(StoreError::TeamBusy { .. }) => {}
                deleted => {
                    deleted?;
                    report.team = None;
                }
            }
        }
        Ok(())
    }

    /// Stops all members: those that `early` has found, and then those that were spawned meanwhile.
    async fn stop_members(
        &self,
        team: &TeamName,
        early: Option<EarlyEnd>,
    ) -> Result<(), LeadError> {
        let first = match early {
            Some(early) => early.await.ok().flatten().map_or(Ok(()), worst_failure),
            None => Ok(()),
        };
        let parts = &self.role.parts;
        let tell = |line| self.reporter.notice(line);
        // Those that could not be recorded before are tried again.
        let ended = end_members(parts.spawn_context.team(team), &parts.stops.kill, tell).await;
        let ended = worst_failure(ended);
        match first {
            Err(error) if !error.is_lock_timeout() => Err(error),
            _ => ended,
        }
    }
}

/// Returns whether an interactive lead has created its team for nothing: no person named the team, the
/// lead has asked no model, and the team has no tasks and had no members.
fn is_unused(parts: &LeadParts, team: &TeamName, requests: u64, report: &RunReport) -> bool {
    let is_new = parts.is_interactive && parts.beginning == Beginning::New;
    let is_implicit = implicit_team_name(parts.session).is_ok_and(|implicit| implicit == *team);
    is_new && is_implicit && requests == 0 && report.tasks.is_empty() && report.members.is_empty()
}

/// Returns the first failure; a member that only could not be recorded counts last.
fn worst_failure(ended: Result<TeamStopReport, LeadError>) -> Result<(), LeadError> {
    let (unrecorded, failed): (Vec<_>, Vec<_>) = (ended?.failed.into_iter())
        .map(|(_, error)| error)
        .partition(LeadError::is_lock_timeout);
    failed
        .into_iter()
        .chain(unrecorded)
        .next()
        .map_or(Ok(()), Err)
}

/// Runs work and the tasks that it starts on one thread. Each chunk of a response passes between
/// two tasks; on several threads each chunk would wake another thread. The work is a task, too,
/// because the runtime looks for I/O each time its main future is woken.
pub(super) async fn on_own_thread<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> io::Result<T> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let thread = tokio::task::spawn_blocking(move || {
        let done = runtime.block_on(runtime.spawn(work));
        // Threads that wait for a member to stop end with the process.
        runtime.shutdown_background();
        done
    });
    match thread.await.flatten() {
        Ok(done) => Ok(done),
        Err(failed) => resume_unwind(failed.into_panic()),
    }
}
