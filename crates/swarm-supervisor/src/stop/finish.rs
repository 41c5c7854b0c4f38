//! Cleanup after a member stops: roster, tasks, journal, pane.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use futures::future::join_all;
use swarm_agent::find_transcript;
use swarm_os::Liveness;
use swarm_protocol::{Member, MemberName, MemberState, SpawnId};
use swarm_store::{BlockOn as _, StoppedSpawn, StoreError};
use swarm_worktree::Owner;

use super::worktree_outcome::{LeftWorktree, finish_worktree};
use super::{StopOutcome, StopReport};
use crate::cleanup::Former;
use crate::process_list::end_processes_of_spawn;
use crate::reconcile::reconcile_team;
use crate::{LeadError, SpawnContext, SupervisedMember, SupervisedTeam};

impl SupervisedMember<'_> {
    /// Removes a stopped member from the roster, with its exit in the journal, releases its open
    /// tasks and closes its pane. Aborts a spawn in progress. Remaining processes get SIGTERM and
    /// after `grace` SIGKILL. Repeated calls have no effect.
    ///
    /// # Errors
    /// [`LeadError::Unrecorded`] if another process does not release a lock of the team.
    pub(crate) async fn finish(
        self,
        spawn_id: SpawnId,
        outcome: StopOutcome,
        grace: Duration,
    ) -> Result<StopReport, LeadError> {
        let context = self.team.context;
        let mut report = StopReport::new(self.name.clone(), outcome);
        if self.cancel_spawn(spawn_id, grace, &mut report).await? {
            return Ok(report);
        }
        // Background processes of its shell carry its mark.
        report.processes_left = self.end_spawn(spawn_id, grace).await.left;
        let remote = self.remote_process(spawn_id).await;
        let stopped = StoppedSpawn::new(spawn_id, report.outcome.word());
        let removed = self.files().remove_member(self.name, Some(&stopped)).await;
        let Some(removed) = removed.map_err(|error| unrecorded(&report, error))? else {
            return Ok(report);
        };
        report.released = removed.released;
        match remote {
            Some(remote) => remote.note(&mut report),
            None => report.worktree = self.team.part(&removed.member).await,
        }
        if report.outcome == StopOutcome::AlreadyGone {
            report.transcript = context.conversation(&removed.member).await;
        }
        let closed = context.close_pane(&removed.member, spawn_id).await;
        report.pane_left = closed.err().map(|error| error.to_string());
        Ok(report)
    }

    /// Removes a member from the roster once its process has ended, if it last reported that it
    /// stops. If it crashed, or the approval came from an earlier spawn, the reconciliation reports
    /// its death instead.
    ///
    /// # Errors
    /// Returns an error if the store fails, or if processes could not be terminated.
    pub async fn remove_departed(self) -> Result<(), LeadError> {
        let files = self.files();
        let config = files.known_config().await?;
        let Some(member) = config.member(self.name) else {
            return Ok(());
        };
        let Some(spawn_id) = member.spawn_id() else {
            // Its process is not known; it has agreed to stop and works no more.
            files.remove_member(self.name, None).await?;
            return Ok(());
        };
        if let Ok(ended) = self.death().await {
            ended?;
        }
        let last = files.state(self.name).await?;
        let stopped = last.is_some_and(|report| {
            report.spawn_id == spawn_id
                && matches!(report.state, MemberState::Stopping | MemberState::Stopped)
        });
        if stopped {
            let grace = self.team.context.kill_grace;
            self.finish(spawn_id, StopOutcome::Approved, grace).await?;
        }
        Ok(())
    }

    /// Returns the roster entry of this name if the member is dead.
    pub(crate) fn dead_entry(self) -> Result<Option<Member>, LeadError> {
        let config = self.files().known_config().block_on()?;
        let dead = config.member(self.name).filter(|member| {
            let mark = member.swarm.as_ref();
            !self.name.is_lead() && mark.is_some_and(|mark| mark.died_at.is_some())
        });
        Ok(dead.cloned())
    }

    /// Returns the member whose settings and conversation a new spawn of this name continues: a dead
    /// or departed one, or with `replace` also a running one.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn namesake(self, replace: bool) -> Result<Option<Member>, LeadError> {
        let files = self.files();
        match files.known_config().block_on()?.member(self.name) {
            Some(member) if replace && !self.name.is_lead() => Ok(Some(member.clone())),
            Some(_) => self.dead_entry(),
            None => {
                let mut former = files.former_member(self.name).block_on()?;
                if let Some(former) = &mut former
                    && !former.cwd.is_dir()
                    && !self.team.context.has_conversation(former)
                {
                    // It was removed with its member, or is on another machine.
                    former.worktree_path = None;
                }
                Ok(former)
            }
        }
    }
}

/// Returns the error of a stopped member that could not be removed from the roster.
fn unrecorded(stopped: &StopReport, error: StoreError) -> LeadError {
    let error = LeadError::from(error);
    if !error.is_lock_timeout() {
        return error;
    }
    LeadError::Unrecorded {
        member: stopped.member.clone(),
        outcome: stopped.outcome.word(),
        sentence: stopped.sentence(),
        why: Box::new(error),
    }
}

impl SpawnContext {
    /// Returns the file of a member's conversation, if it exists.
    async fn conversation(&self, member: &Member) -> Option<PathBuf> {
        let (root, cwd, session) = (self.root.clone(), member.cwd.clone(), member.session()?);
        let look =
            move || Some(find_transcript(&root, &cwd, session)).filter(|path| path.is_file());
        tokio::task::spawn_blocking(look).await.ok()?
    }

    /// Returns whether a former spawn of a member left a conversation on this machine.
    pub(crate) fn has_conversation(&self, member: &Member) -> bool {
        let session = member.session();
        session.is_some_and(|session| find_transcript(&self.root, &member.cwd, session).is_file())
    }
}

impl SupervisedTeam<'_> {
    /// Handles the worktree of a member, if it had one.
    async fn part(self, member: &Member) -> Option<LeftWorktree> {
        let path = member.worktree_path.as_ref()?;
        let owner = Owner {
            team: Some(self.name.clone()),
            member: Some(member.name.clone()),
            agent: None,
            spawn_id: member.spawn_id(),
        };
        let now = self.context.clock.now();
        finish_worktree(&self.context.worktrees, path, owner, now).await
    }

    /// Terminates the child processes of a lost lead. Does nothing while a lead is running.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn clean_up_after_lead(self) -> Result<(), LeadError> {
        let lead = MemberName::lead();
        // Read before the lock is checked, so that a new lead is not in the record.
        let record = self.files().life_record(&lead).await;
        if self.files().liveness(&lead).await? == Liveness::Dead
            && let Some(record) = record
        {
            let grace = self.context.kill_grace;
            let ended = end_processes_of_spawn(self.context, record.spawn_id, grace).await;
            if ended.left > 0 {
                tracing::error!(team = %self.name, left = ended.left, "processes of a lost lead are left");
            }
        }
        Ok(())
    }

    /// Terminates the child processes of a dead member. Its pane remains readable.
    pub(crate) async fn clean_up_after(self, member: &Member) {
        if let Some(spawn_id) = member.spawn_id() {
            let (dead, grace) = (self.member(&member.name), self.context.kill_grace);
            let ended = dead.end_spawn(spawn_id, grace).await;
            if ended.left > 0 {
                tracing::error!(member = %member.name, left = ended.left, "processes of a dead member are left");
            }
        }
    }

    /// Removes every dead member from the roster, with its pane and child processes, before a team
    /// is deleted. Does nothing while a member is running, because the team is then not deleted.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn clear_dead(self) -> Result<Vec<StopReport>, LeadError> {
        let files = self.files();
        reconcile_team(&files).await?;
        let config = files.config().await?;
        for member in config.teammates() {
            if self.member(&member.name).liveness()? == Liveness::Alive {
                return Ok(Vec::new());
            }
        }
        self.clean_up_after_lead().await?;
        let clearing = config.teammates().map(async |member| {
            let member = self.member(&member.name);
            let Some(spawn_id) = member.dead_entry()?.and_then(|dead| dead.spawn_id()) else {
                return Ok(None);
            };
            let grace = self.context.kill_grace;
            let finishing = member.finish(spawn_id, StopOutcome::AlreadyGone, grace);
            Ok::<_, LeadError>(Some(finishing.await?))
        });
        // In parallel, so that they share the scans of the process table.
        let cleared = join_all(clearing).await.into_iter();
        let cleared = cleared
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?;
        match Former::of(self) {
            Ok(former) => self.end_begun(&former.spawns).await,
            Err(error) => {
                tracing::warn!(team = %self.name, %error, "processes of former spawns not looked for");
            }
        }
        self.close_panes_of_former().await;
        Ok(cleared)
    }

    /// Terminates the processes of aborted spawns. A killed spawner may leave a tmux command in
    /// progress, so the process in the new pane may start after the rollback.
    pub(super) async fn end_begun(self, spawns: &HashSet<SpawnId>) {
        if spawns.is_empty() {
            return;
        }
        match self.end_spawns(spawns).await {
            Ok(ended) if ended.left == 0 => {}
            Ok(ended) => {
                tracing::error!(team = %self.name, left = ended.left, "processes of former spawns are left");
            }
            Err(error) => {
                tracing::error!(team = %self.name, %error, "processes of former spawns not looked for");
            }
        }
    }

    /// Closes the panes of spawns that are no longer in the roster: after the team is deleted, they
    /// can no longer be identified.
    async fn close_panes_of_former(self) {
        let left = match self.left_panes().await {
            Ok(left) => left,
            Err(error) => {
                tracing::warn!(team = %self.name, %error, "panes of former spawns not looked for");
                return;
            }
        };
        for pane in left {
            if let Err(error) = pane.close().await {
                tracing::warn!(team = %self.name, pane = %pane.tagged.pane.id, %error, "pane of a former spawn not closed");
            }
        }
    }
}
