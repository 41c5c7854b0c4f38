//! Stopping a whole team.

use futures::future::join_all;
use swarm_protocol::{MemberName, TeamName};
use swarm_store::{BlockOn as _, StoreError};

use super::{StopOptions, StopReport, kill, shutdown};
use crate::{LeadError, SpawnContext};

/// Result of stopping a team's members.
#[derive(Debug, Default)]
pub struct TeamStopReport {
    /// Members that were handled.
    pub stopped: Vec<StopReport>,
    /// Members that could not be handled, with the errors.
    pub failed: Vec<(MemberName, LeadError)>,
}

/// Shuts down all members that swarm started, in parallel.
///
/// # Errors
/// [`LeadError::Store`] if the roster cannot be read; errors of single members are in the result.
pub async fn end_team(
    spawn_context: &SpawnContext,
    team: &TeamName,
    options: &StopOptions,
) -> Result<TeamStopReport, LeadError> {
    let names = started_by_swarm(spawn_context, team)?;
    let results = join_all(
        names
            .iter()
            .map(|name| shutdown(spawn_context, team, name, options)),
    )
    .await;
    Ok(TeamStopReport::of(names, results))
}

/// Kills all members that swarm started, in parallel.
pub async fn kill_team(
    spawn_context: &SpawnContext,
    team: &TeamName,
) -> Result<TeamStopReport, LeadError> {
    let names = started_by_swarm(spawn_context, team)?;
    let results = join_all(names.iter().map(|name| kill(spawn_context, team, name))).await;
    Ok(TeamStopReport::of(names, results))
}

fn started_by_swarm(
    spawn_context: &SpawnContext,
    team: &TeamName,
) -> Result<Vec<MemberName>, LeadError> {
    let config = spawn_context.store.team(team).config().block_on()?;
    let ours = config.teammates().filter(|member| member.swarm.is_some());
    Ok(ours.map(|member| member.name.clone()).collect())
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
