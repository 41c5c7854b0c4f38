//! The end of a headless lead.

use std::time::{Duration, Instant};

use swarm_policy::HookEvent;
use swarm_protocol::{MemberState, TeamName};

use super::Run;
use crate::lead::farewell::{end_members, left_worktrees, take_stock};
use crate::lead::report::{Outcome, RunReport};
use swarm_supervisor::LeadError;
use swarm_supervisor::end_marked;
use swarm_supervisor::reconcile_outcome;

/// How long hooks of the end of a session may take.
const END_HOOKS: Duration = Duration::from_secs(10);

impl Run {
    /// Ends the members or leaves them to another lead, takes stock, and gives up the lead.
    pub(super) async fn finish(
        &mut self,
        outcome: Outcome,
        started: Instant,
    ) -> Result<RunReport, LeadError> {
        self.sub_agents.shut_down().await;
        let mut usage = self.session.totals().usage;
        usage += self.reporter.of_sub_agents();
        self.tell_of_end(&outcome).await;
        let mut report = RunReport {
            outcome,
            result: self.result.take(),
            team: self.seat.team(),
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
        if let Some(servers) = self.servers.take() {
            servers.close().await;
        }
        let dep = &self.parts.deployment;
        end_marked(dep, dep.spawn_id, dep.kill_grace).await;
        report.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        closed.map(|()| report)
    }

    /// Whether the members outlive this lead: it ends before the work is done, and nobody has ended the team.
    fn leaves_team(&self, outcome: &Outcome) -> bool {
        let parts = &self.parts;
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

    /// Leaves the team as the end of a killed lead would: its process stays in the roster, so that members that live park as
    /// soon as its life lock falls, and `swarm resume` finds everybody.
    async fn leave(&self, team: &TeamName, report: &mut RunReport) -> Result<(), LeadError> {
        let dep = &self.parts.deployment;
        report.worktrees = left_worktrees(dep, team).await;
        take_stock(&*dep.store, team, report)
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
            && let Err(error) = reconcile_outcome(under_way.await)
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
}
