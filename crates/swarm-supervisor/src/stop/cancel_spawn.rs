//! Stopping a spawn in progress.

use std::time::Duration;

use swarm_panes::{PaneError, backend_for_pane};
use swarm_protocol::{Member, SpawnId};
use swarm_team::SpawnOrder;

use super::StopReport;
use crate::process_list::canonical;
use crate::{LeadError, SupervisedMember, SupervisedTeam};

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
        let config = files.config().await?;
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
        let ended = self.end_marked(spawn_id, grace).await;
        undone?;
        let closed = self.team.close_begun_pane(entry, spawn_id).await;
        SpawnOrder::discard(&files.local_directory(self.name), spawn_id)?;
        report.pane_left = closed.err().map(|error| error.to_string());
        report.processes_left = ended.left;
        Ok(true)
    }
}

fn is_begun(entry: &Member, spawn_id: SpawnId) -> bool {
    let mark = entry.swarm.as_ref();
    mark.is_some_and(|mark| mark.spawn_id == spawn_id && mark.reservation.is_some())
}

impl SupervisedTeam<'_> {
    /// Closes the pane of an aborted spawn. It is in no roster and is found by its tag; a running
    /// spawner also closes it, but a killed one does not.
    async fn close_begun_pane(self, entry: &Member, spawn_id: SpawnId) -> Result<(), PaneError> {
        let Some(kind) = &entry.backend_type else {
            return Ok(());
        };
        let socket = entry.swarm.as_ref().and_then(|mark| mark.socket.as_deref());
        let backend = backend_for_pane(kind, socket, &self.context.terminal)?;
        let root = canonical(&self.context.root);
        for tagged in backend.panes(self.name).await? {
            if tagged.spawn_id == spawn_id && !tagged.is_of_another(&root) {
                backend.close(&tagged.pane, &spawn_id).await?;
            }
        }
        Ok(())
    }
}
