//! A lead from its start to its end.

use std::sync::Arc;
use std::time::Instant;

use swarm_mcp::ProcessServers;
use swarm_protocol::{MemberState, TeamName};
use swarm_supervisor::{
    LeadError, Leadership, clean_up_after_lead, end_marked, handover, implicit_team_name,
    reconcile_outcome,
};
use swarm_team::TeamCreator;

use super::assemble::{assemble, start_mcp};
use super::report::{Outcome, RunReport};
use super::role::LeadRole;
use super::run_end::{end_members, left_worktrees, take_stock};
use super::{Beginning, LeadParts};
use crate::member_loop::MemberLoop;

/// Runs a lead from its prompt to the end of its work, an interactive one until a person ends it. Members that are still
/// there are shut down; team and tasks are kept unless asked otherwise.
///
/// # Errors
/// [`LeadError`] when the team's files or the transcript cannot be used. A failure of the agent is an outcome.
pub async fn run_lead(
    mut parts: LeadParts,
    prompt: Option<String>,
) -> Result<RunReport, LeadError> {
    let started = Instant::now();
    let implicit = match &parts.team {
        Some(team) => team.clone(),
        // A session id is hex digits, which every name may hold.
        None => implicit_team_name(parts.session).map_err(LeadError::Name)?,
    };
    let servers = start_mcp(&mut parts).await;
    let leadership = Arc::new(Leadership::new(
        parts.deployment.clone(),
        parts.session,
        implicit,
        parts.deployment.model.clone(),
    ));
    let taken = match &parts.team {
        Some(team) if parts.beginning != Beginning::New => {
            clean_up_after_lead(&parts.deployment, team).await?;
            leadership.take_over(team.clone())?;
            Some(handover(&*parts.deployment.store.team(team))?)
        }
        Some(_) => {
            leadership.create_team()?;
            None
        }
        None => None,
    };
    let mut member = assemble(parts, leadership, &servers)?;
    for problem in servers.problems() {
        member.reporter.notice(problem.to_string());
    }
    let worked = member.work(taken, prompt).await;
    member.mail.finish_writes();
    match worked {
        Ok(outcome) => member.finish(outcome, servers, started).await,
        Err(error) => {
            // Its members do not outlive it; the team is kept for inspection.
            member.role.parts.remove_team = false;
            let outcome = Outcome::LeadFailed(error.to_string());
            if let Err(second) = member.finish(outcome, servers, started).await {
                tracing::error!(error = %second, "the end of a failed run");
            }
            Err(error)
        }
    }
}

impl MemberLoop<LeadRole> {
    /// Stops the members or leaves them to another lead, writes the report, and gives up the lead.
    async fn finish(
        &mut self,
        outcome: Outcome,
        servers: ProcessServers,
        started: Instant,
    ) -> Result<RunReport, LeadError> {
        self.sub_agents.shut_down().await;
        let mut usage = self.session.totals().usage;
        usage += self.reporter.of_sub_agents();
        self.end_session(outcome.word(), &self.role.parts.kill)
            .await;
        let mut report = RunReport {
            outcome,
            result: self.role.result.take(),
            team: self.seat().team().map(|team| team.name().clone()),
            tasks: Vec::new(),
            members: Vec::new(),
            worktrees: Vec::new(),
            usage,
            duration_ms: 0,
        };
        let closed = match report.team.clone() {
            Some(team) if self.leaves_team(&report.outcome) => self.leave(&team, &mut report).await,
            Some(team) => self.close(&team, &mut report).await,
            None => Ok(()),
        };
        servers.close().await;
        let dep = &self.role.parts.deployment;
        end_marked(dep, dep.spawn_id, dep.kill_grace).await;
        report.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        closed.map(|()| report)
    }

    /// Whether the members outlive this lead: it ends before the work is done, and nobody has stopped the team.
    fn leaves_team(&self, outcome: &Outcome) -> bool {
        let parts = &self.role.parts;
        let hung_up = parts.hangup.is_cancelled();
        // A terminal that closes cancels `stop` as well.
        let is_asked = parts.kill.is_cancelled() || (parts.stop.is_cancelled() && !hung_up);
        let is_unfinished = match outcome {
            Outcome::TimedOut => !parts.remove_team,
            Outcome::Interrupted => hung_up,
            _ => false,
        };
        is_unfinished && !is_asked
    }

    /// Leaves the team as the death of a lead would: its process stays in the roster, so that running members park as
    /// soon as its life lock is released, and `swarm resume` finds everyone.
    async fn leave(&self, team: &TeamName, report: &mut RunReport) -> Result<(), LeadError> {
        let dep = &self.role.parts.deployment;
        report.worktrees = left_worktrees(dep, team).await;
        take_stock(&*dep.store.team(team), report)
    }

    /// Stops the members and gives up the lead. Every step is taken even if one fails; the first failure is returned.
    async fn close(&mut self, team: &TeamName, report: &mut RunReport) -> Result<(), LeadError> {
        let role = &mut self.role;
        let dep = &role.parts.deployment;
        self.reporter.state(MemberState::Stopping, None);
        let tell = |line| self.reporter.notice(line);
        let ended = match end_members(dep, team, &role.parts.kill, tell).await {
            Ok(ended) => match ended.failed.into_iter().next() {
                Some((_, error)) => Err(error),
                None => Ok(()),
            },
            Err(error) => Err(error),
        };
        // The program handles the frames that came meanwhile; messages to the lead stay unread.
        if let Err(error) = self.mail.take() {
            tracing::warn!(%team, %error, "mail of the lead not read");
        }
        if ended.is_ok() {
            // A member that cannot be stopped would never leave.
            role.mail.wait_for_departures().await;
        }
        if let Some(under_way) = role.reconciling.take()
            && let Err(error) = reconcile_outcome(under_way.await)
        {
            tracing::warn!(%team, %error, "team not reconciled");
        }
        report.worktrees = left_worktrees(dep, team).await;
        let stock = take_stock(&*dep.store.team(team), report);
        // Its last report, which is shown until another lead has taken over.
        match report.outcome.failure() {
            Some(why) => self.reporter.state(MemberState::Failed, Some(why)),
            None => self.reporter.state(MemberState::Stopped, None),
        }
        let resigned = role.leadership.resign();
        ended.and(stock)?;
        resigned?;
        if role.parts.remove_team {
            dep.store.team(team).delete(true, true)?;
        }
        Ok(())
    }
}
