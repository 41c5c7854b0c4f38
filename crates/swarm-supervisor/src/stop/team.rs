//! Stopping a whole team, also one whose roster cannot be read.

use futures::future::join_all;
use swarm_protocol::MemberName;
use swarm_store::{BlockOn as _, StoreError};

use super::{StopOptions, StopReport};
use crate::cleanup::{Former, LeftPane, orphaned_panes};
use crate::{LeadError, SupervisedTeam};

/// Result of stopping a team's members.
#[derive(Debug, Default)]
pub struct TeamStopReport {
    /// Members that were handled.
    pub stopped: Vec<StopReport>,
    /// Members that could not be handled, with the errors.
    pub failed: Vec<(MemberName, LeadError)>,
}

impl TeamStopReport {
    fn of(names: Vec<MemberName>, results: Vec<Result<StopReport, LeadError>>) -> Self {
        let mut ended = Self::default();
        for (name, result) in names.into_iter().zip(results) {
            match result {
                Ok(stopped) => ended.stopped.push(stopped),
                // The member left the team meanwhile.
                Err(LeadError::Store(StoreError::MemberNotFound { .. })) => {}
                Err(error) => ended.failed.push((name, error)),
            }
        }
        ended
    }
}

/// Remaining resources of such a team.
#[derive(Debug, Default)]
pub struct LeftOfTeam {
    /// Number of processes that could not be terminated.
    pub processes: usize,
    /// A message for each pane that could not be closed, or why panes could not be found.
    pub panes: Vec<String>,
}

impl SupervisedTeam<'_> {
    /// Shuts down all members that swarm started, in parallel.
    ///
    /// # Errors
    /// [`LeadError::Store`] if the roster cannot be read; errors of single members are in the
    /// result.
    pub async fn shutdown(self, options: &StopOptions) -> Result<TeamStopReport, LeadError> {
        let names = self.started_by_swarm()?;
        let stopping = names.iter().map(|name| self.member(name).shutdown(options));
        let results = join_all(stopping).await;
        Ok(TeamStopReport::of(names, results))
    }

    /// Kills all members that swarm started, in parallel.
    pub async fn kill(self) -> Result<TeamStopReport, LeadError> {
        let names = self.started_by_swarm()?;
        let results = join_all(names.iter().map(|name| self.member(name).kill())).await;
        Ok(TeamStopReport::of(names, results))
    }

    fn started_by_swarm(self) -> Result<Vec<MemberName>, LeadError> {
        let config = self.files().config().block_on()?;
        let ours = config.teammates().filter(|member| member.swarm.is_some());
        Ok(ours.map(|member| member.name.clone()).collect())
    }

    /// Terminates every process with the team's marks, and closes the panes in its journal.
    ///
    /// # Errors
    /// Returns an error if the processes cannot be listed. An unreadable journal only leaves the
    /// panes open.
    pub async fn end_without_roster(self) -> Result<LeftOfTeam, LeadError> {
        let mut left = LeftOfTeam {
            processes: self.end_all_processes().await?,
            panes: Vec::new(),
        };
        let former = match Former::in_journal(self) {
            Ok(former) => former,
            // The journal is gone, too. Its panes are orphaned once the team is deleted here.
            Err(StoreError::NotOnHub { .. }) => return Ok(left),
            Err(error) => {
                left.panes.push(format!(
                    "its panes could not be located ({error}); close remaining panes manually"
                ));
                return Ok(left);
            }
        };
        self.end_begun(&former.spawns).await;
        left.panes = close_all(&self.ended_panes(former).await).await;
        Ok(left)
    }

    /// Closes the panes of a deleted team, for which no journal is needed. Returns a message for each
    /// that could not be closed.
    pub async fn close_orphaned_panes(self) -> Vec<String> {
        let context = self.context;
        let mut panes = orphaned_panes(&*context.store, &context.root, &context.terminal).await;
        panes.retain(|pane| pane.tagged.team == *self.name);
        close_all(&panes).await
    }
}

/// Closes panes. Returns a message for each that could not be closed.
async fn close_all(panes: &[LeftPane]) -> Vec<String> {
    let mut left = Vec::new();
    for pane in panes {
        if let Err(error) = pane.close().await {
            let at = &pane.tagged.pane;
            let server = at.socket.as_deref().map_or_else(String::new, |socket| {
                format!(" of the tmux server at {}", socket.display())
            });
            left.push(format!("pane {}{server} is still there: {error}", at.id));
        }
    }
    left
}
