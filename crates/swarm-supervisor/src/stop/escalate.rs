//! Termination of unresponsive members: SIGTERM to all their processes, then SIGKILL. Members whose
//! processes cannot be found from here.

use std::time::Duration;

use swarm_os::Liveness;
use swarm_protocol::{AgentId, LifeKind, LifeRecord, Member, MemberName, MemberState, SpawnId};
use swarm_store::process::is_dead;
use swarm_store::{LeaseEnd, Team};

use super::{StopOutcome, StopReport};
use crate::{LeadError, SupervisedMember, node_of};

/// How long a member that announced its exit, or whose process is gone, may still hold its life lock.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// How long a task may take to stop.
const TASK_END: Duration = Duration::from_secs(5);

impl SupervisedMember<'_> {
    /// Returns a future that resolves when the member's lease is released.
    pub(super) fn death(self) -> LeaseEnd {
        self.files().lease_end(self.name)
    }

    /// Waits briefly for the exit of a member whose last state announces it. Does not wait for other
    /// members.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn await_reported_end(self) -> Result<(), LeadError> {
        let files = self.files();
        let config = files.known_config().await?;
        let Some(spawn_id) = config.member(self.name).and_then(Member::spawn_id) else {
            return Ok(());
        };
        let last = files.state(self.name).await?;
        let is_over = last.is_some_and(|last| {
            last.spawn_id == spawn_id
                && matches!(last.state, MemberState::Dead | MemberState::Stopped)
        });
        if is_over && self.liveness()? == Liveness::Alive {
            self.ends_within(LAST_MOMENT).await;
        }
        Ok(())
    }

    /// Waits until the lease of a member is released, and returns whether that was in time.
    pub(super) async fn ends_within(self, limit: Duration) -> bool {
        let ended = tokio::time::timeout(limit, self.death()).await;
        let in_time = matches!(ended, Ok(Ok(Ok(()))));
        tracing::debug!(team = %self.team.name, member = %self.name, in_time, "waited for its lock");
        in_time
    }

    /// Stops a member that is a task of its lead's process: no signal is sent, because it would
    /// reach the lead.
    async fn end_task(self, member: &Member, spawn_id: SpawnId) {
        if let Err(error) = self.team.context.close_pane(member, spawn_id).await {
            tracing::warn!(team = %self.team.name, member = %self.name, %error, "task not stopped");
        }
        self.ends_within(TASK_END).await;
    }

    /// Terminates a member's processes: SIGTERM, then after `grace` SIGKILL.
    pub(super) async fn end_processes(
        self,
        spawn_id: SpawnId,
        grace: Duration,
    ) -> Result<StopOutcome, LeadError> {
        let terminated = self.end_spawn(spawn_id, grace).await;
        if terminated.left > 0 {
            return Err(LeadError::StillAlive {
                member: self.name.clone(),
                left: terminated.left,
            });
        }
        let config = self.files().known_config().await?;
        let member = config.member(self.name);
        let member = member.filter(|member| member.spawn_id() == Some(spawn_id));
        if let Some(member) = member
            && let Some(record) = self.files().life_record(self.name).await
        {
            if record.kind == LifeKind::Task {
                self.end_task(member, spawn_id).await;
            }
            // A hub would notice the death only when the lease is not renewed.
            if record.spawn_id == spawn_id && is_dead(&record) {
                self.files().end_lease(self.name, &spawn_id).await?;
            }
        }
        if member.is_some() && self.liveness()? == Liveness::Alive {
            let member = self.name.clone();
            if let Some(host) = self.runs_elsewhere().await {
                let place = if self.has_node().await {
                    "here"
                } else {
                    "there"
                };
                return Err(LeadError::NotStoppedElsewhere {
                    member,
                    host,
                    place,
                });
            }
            // The main thread of a killed process can be gone before those that still hold its files.
            if !self.ends_within(LAST_MOMENT).await {
                return Err(LeadError::StillAlive { member, left: 1 });
            }
        }
        Ok(if terminated.killed > 0 {
            StopOutcome::Killed
        } else {
            StopOutcome::Terminated
        })
    }

    /// Returns where a member runs, if its process cannot be found from here: on another machine, or
    /// with another config directory.
    pub(super) async fn runs_elsewhere(self) -> Option<String> {
        let there = self.files().life_record(self.name).await?;
        self.place_of(&there).await
    }

    async fn place_of(self, there: &LifeRecord) -> Option<String> {
        let this_host = &self.team.context.process.host;
        started_elsewhere(&*self.files(), self.name, there, this_host).await
    }

    /// Returns whether a node reports the member, which carries out commands about it. A node that
    /// cannot be looked up is not known.
    async fn has_node(self) -> bool {
        let Some(orders) = self.files().orders() else {
            return false;
        };
        let nodes = orders.nodes().nodes().await.unwrap_or_default();
        let member = AgentId::new(self.name.clone(), self.team.name.clone());
        node_of(&nodes, &member).is_some()
    }

    /// Returns where the last process of a spawn was started, if that was on another machine or with
    /// another config directory. Its worktree and conversation are there: a path of the same name here
    /// is another one.
    pub(crate) async fn ran_elsewhere(self, spawn_id: SpawnId) -> Option<String> {
        let files = self.files();
        if !files.is_remote() {
            return None;
        }
        let there = files.life_record(self.name).await?;
        if there.spawn_id != spawn_id {
            return None;
        }
        self.place_of(&there).await
    }

    /// Returns the last process of a spawn, if it ran elsewhere.
    pub(super) async fn remote_process(self, spawn_id: SpawnId) -> Option<RemoteProcess> {
        let host = self.ran_elsewhere(spawn_id).await?;
        let parked = self.files().parked_process(self.name).await;
        let is_parked = parked.is_some_and(|parked| parked.spawn_id == spawn_id);
        Some(RemoteProcess { host, is_parked })
    }
}

/// Returns where a process of a member was started, if that is not here.
pub async fn started_elsewhere(
    team: &dyn Team,
    name: &MemberName,
    there: &LifeRecord,
    this_host: &str,
) -> Option<String> {
    if !there.host.is_empty() && there.host != this_host {
        return Some(there.host.clone());
    }
    let here = team.life_record_here(name).await;
    let is_here = here.is_some_and(|here| here.spawn_id == there.spawn_id);
    (!is_here).then(|| format!("{} with another config directory", there.host))
}

/// The last process of a member that was not started from here.
pub(super) struct RemoteProcess {
    /// Where it was started.
    host: String,
    /// Whether it has parked and still exists.
    is_parked: bool,
}

impl RemoteProcess {
    /// Adds where the process is, if it still exists or may do so: it ends when it learns that its member
    /// has left the roster.
    pub(super) fn note(self, report: &mut StopReport) {
        if self.is_parked {
            report.parked_on = Some(self.host);
        } else if let StopOutcome::AlreadyGone | StopOutcome::Killed = report.outcome {
            // Nothing is killed from here.
            report.lost_on = Some(self.host);
        }
    }
}
