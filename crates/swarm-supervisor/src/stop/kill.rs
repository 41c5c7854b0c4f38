//! Immediate termination of a member, or of a spawn in progress.

use std::time::Duration;

use swarm_os::Liveness;
use swarm_protocol::{Event, Member, MemberName, PERSON, RequestId, SpawnId, UnixMs};
use swarm_store::Team;
use swarm_team::{SpawnOrder, parks_here};

use super::{StopOptions, StopOutcome, StopReport};
use crate::{LeadError, SupervisedMember};

impl SupervisedMember<'_> {
    /// Aborts a spawn in progress. Its roster entry is removed first, so that the spawner reports
    /// the abort and not its consequences. Remaining processes and panes are added to the report.
    /// Returns `false` if the spawn is not in progress.
    pub(super) async fn cancel_spawn(
        self,
        spawn_id: SpawnId,
        grace: Duration,
        report: &mut StopReport,
    ) -> Result<bool, LeadError> {
        let files = self.files();
        let config = files.known_config().await?;
        let Some(entry) = config
            .member(self.name)
            .filter(|entry| is_begun(entry, spawn_id))
        else {
            return Ok(false);
        };
        let undone = files
            .abort_spawn(&spawn_id, "it was stopped before it was ready")
            .await;
        if matches!(undone, Ok(false)) {
            return Ok(false);
        }
        // Continues if the entry cannot be removed, so that the processes are stopped anyway.
        let ended = self.end_spawn(spawn_id, grace).await;
        undone?;
        let closed = self.team.close_begun_pane(entry, spawn_id).await;
        SpawnOrder::discard(&files.local_directory(self.name), spawn_id)?;
        report.pane_left = closed.err().map(|error| error.to_string());
        report.processes_left = ended.left;
        Ok(true)
    }

    /// Terminates a member's processes immediately.
    ///
    /// # Errors
    /// [`LeadError`]: unknown member, a member of another program or machine, or processes that
    /// could not be terminated.
    pub async fn kill(self) -> Result<StopReport, LeadError> {
        let spawn_id = self.spawn_id()?;
        if self.liveness()? == Liveness::Alive {
            if let Some(host) = self.runs_elsewhere().await {
                let member = self.name.clone();
                return Err(LeadError::Elsewhere { member, host });
            }
            announce(&*self.files(), self.name, self.team.context.clock.now()).await;
        }
        self.kill_spawn(spawn_id).await
    }

    /// Terminates one spawn of a name; a later spawn is not affected.
    pub(crate) async fn kill_spawn(self, spawn_id: SpawnId) -> Result<StopReport, LeadError> {
        let mut report = StopReport::new(self.name.clone(), StopOutcome::Killed);
        if self
            .cancel_spawn(spawn_id, Duration::ZERO, &mut report)
            .await?
        {
            if report.processes_left > 0 {
                return Err(LeadError::StillAlive {
                    member: self.name.clone(),
                    left: report.processes_left,
                });
            }
            return Ok(report);
        }
        let dead = self.dead_entry()?.and_then(|dead| dead.spawn_id());
        let was_gone = dead == Some(spawn_id) && !parks_here(&*self.files(), self.name, spawn_id);
        let outcome = if was_gone {
            StopOutcome::AlreadyGone
        } else {
            StopOutcome::Killed
        };
        self.end_processes(spawn_id, Duration::ZERO).await?;
        self.finish(spawn_id, outcome, Duration::ZERO).await
    }

    /// Prepares a new spawn of a name: stops a running member without asking its agent, because a
    /// refusal would not count. Returns the former roster entry. The entry of a dead member stays
    /// for the new spawn, which takes it over or restores it on failure.
    pub(crate) async fn end_live_namesake(self) -> Result<Option<Member>, LeadError> {
        let Some(member) = self
            .files()
            .known_config()
            .await?
            .member(self.name)
            .cloned()
        else {
            return Ok(None);
        };
        let spawning = member
            .swarm
            .as_ref()
            .is_some_and(|swarm| swarm.reservation.is_some());
        if !spawning && self.liveness()? == Liveness::Dead {
            return Ok(None);
        }
        // Only a person replaces a member.
        let options = StopOptions::now(Some("a new process replaces you".to_owned()), PERSON);
        self.shutdown(&options).await?;
        Ok(Some(member))
    }
}

/// Records that a person stops a member, before the signal: otherwise a process that notices the end
/// first reports an unexpected one. A member is also killed if that cannot be recorded.
async fn announce(team: &dyn Team, name: &MemberName, now: UnixMs) {
    let event = Event::ShutdownRequested {
        member: name.clone(),
        request: RequestId::shutdown(now.0, name),
        by: PERSON.to_owned(),
        reason: Some("killed".to_owned()),
    };
    if let Err(error) = team.journal(event).await {
        tracing::warn!(team = %team.name(), member = %name, %error, "not recorded that a member is killed");
    }
}

fn is_begun(entry: &Member, spawn_id: SpawnId) -> bool {
    let mark = entry.swarm.as_ref();
    mark.is_some_and(|mark| mark.spawn_id == spawn_id && mark.reservation.is_some())
}
