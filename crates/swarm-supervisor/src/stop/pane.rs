//! Closing the panes of stopped and dead members and of aborted spawns.

use swarm_panes::{Pane, PaneError, backend_for_pane};
use swarm_protocol::{Member, SpawnId};

use crate::process_list::canonical;
use crate::{SpawnContext, SupervisedTeam};

impl SpawnContext {
    /// Closes the pane of a dead member.
    pub(crate) async fn close_remaining_pane(&self, member: &Member) {
        if let Some(spawn_id) = member.spawn_id()
            && let Err(error) = self.close_pane(member, spawn_id).await
        {
            // The roster may already contain a new spawn with another pane.
            tracing::warn!(member = %member.name, %error, "pane of a dead member not closed");
        }
    }

    /// Closes a member's pane. Its process has exited and the roster records it, so a failure only
    /// leaves a visible pane.
    pub(super) async fn close_pane(
        &self,
        member: &Member,
        spawn_id: SpawnId,
    ) -> Result<(), PaneError> {
        let Some(backend) = &member.backend_type else {
            return Ok(());
        };
        if member.tmux_pane_id.is_none() {
            return Ok(());
        }
        let socket = member.swarm.as_ref().and_then(|swarm| swarm.socket.clone());
        let pane = Pane::new(member.tmux_pane_id.clone(), socket.clone());
        let backend = backend_for_pane(backend, socket.as_deref(), &self.terminal)?;
        let root = canonical(&self.root);
        let panes = backend.all_panes().await?;
        let mut its = panes.iter().filter(|tagged| tagged.spawn_id == spawn_id);
        if its.any(|tagged| tagged.is_of_another(&root)) {
            return Ok(());
        }
        backend.close(&pane, &spawn_id).await
    }
}

impl SupervisedTeam<'_> {
    /// Closes the pane of an aborted spawn. It is in no roster and is found by its tag; a running
    /// spawner also closes it, but a killed one does not.
    pub(super) async fn close_begun_pane(
        self,
        entry: &Member,
        spawn_id: SpawnId,
    ) -> Result<(), PaneError> {
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
