//! Stopping a team whose roster cannot be read.

use swarm_protocol::TeamName;

use super::finish::end_begun;
use crate::cleanup::{panes_without_roster, spawns_in_journal};
use crate::process_list::end_marked_of;
use crate::{LeadError, SpawnContext};

/// Remaining resources of such a team.
#[derive(Debug, Default)]
pub struct LeftOfTeam {
    /// Number of processes that could not be terminated.
    pub processes: usize,
    /// A message for each pane that could not be closed, or why panes could not be found.
    pub panes: Vec<String>,
}

/// Terminates every process with the team's marks, and closes the panes in its journal.
///
/// # Errors
/// Returns an error if the processes cannot be listed. An unreadable journal only leaves the panes
/// open.
pub async fn end_without_roster(
    spawn_context: &SpawnContext,
    team: &TeamName,
) -> Result<LeftOfTeam, LeadError> {
    let mut left = LeftOfTeam {
        processes: end_marked_of(spawn_context, team).await?,
        panes: Vec::new(),
    };
    let spawns = match spawns_in_journal(spawn_context, team) {
        Ok(spawns) => spawns,
        Err(error) => {
            left.panes.push(format!(
                "its panes could not be located ({error}); close remaining panes manually"
            ));
            return Ok(left);
        }
    };
    end_begun(spawn_context, team, &spawns).await;
    for pane in panes_without_roster(spawn_context, team).await? {
        if let Err(error) = pane.close().await {
            let at = &pane.tagged.pane;
            let server = at.socket.as_deref().map_or_else(String::new, |socket| {
                format!(" of the tmux server at {}", socket.display())
            });
            left.panes
                .push(format!("pane {}{server} is still there: {error}", at.id));
        }
    }
    Ok(left)
}
