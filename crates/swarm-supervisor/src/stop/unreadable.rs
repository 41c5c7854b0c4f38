//! Ending a team whose roster cannot be read.

use swarm_protocol::TeamName;

use super::finish::end_begun;
use crate::cleanup::{panes_without_roster, spawns_in_journal};
use crate::process_list::end_marked_of;
use crate::{LeadError, SpawnContext};

/// What of such a team is still there.
#[derive(Debug, Default)]
pub struct LeftOfTeam {
    /// Processes that would not end.
    pub processes: usize,
    /// A sentence for each pane that is still there, or one that says why none could be looked for.
    pub panes: Vec<String>,
}

/// Ends every process that bears the team's marks, and closes the panes that its journal knows.
///
/// # Errors
/// Whatever the list of processes says. A journal that cannot be read only leaves the panes.
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
