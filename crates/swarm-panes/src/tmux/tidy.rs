//! What is put in order after a pane has closed.

use swarm_protocol::PaneId;

use super::arrange::{self, Owner};
use super::backend::TmuxBackend;
use super::batch::Batch;
use super::commands::zoom;
use super::own_server::remove_dead_socket;
use super::server::Server;
use super::snapshot::{Snapshot, Zoom};
use crate::PaneError;

/// What a closing pane leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Left {
    window: Option<String>,
    /// The pane that filled the window: tmux shows the others again when one closes.
    zoomed: Option<PaneId>,
}

impl Left {
    /// What `closing` leaves, from how things were before it closed.
    pub(crate) fn by(before: &Snapshot, closing: &PaneId) -> Self {
        let Some(row) = before.pane(closing) else {
            return Self::default();
        };
        let window = before.window(&row.session, &row.window);
        let zoomed = window.iter().find(|pane| pane.zoom == Zoom::Fills);
        Self {
            window: Some(row.window.clone()),
            zoomed: zoomed
                .map(|pane| pane.id.clone())
                .filter(|pane| pane != closing),
        }
    }
}

impl TmuxBackend {
    /// Divides the window that lost a pane anew, fills it with the pane that filled it before, and takes our options
    /// off windows without teammates.
    ///
    /// # Errors
    /// [`PaneError`] when the server does not answer in order. The pane is closed by then.
    pub(super) async fn tidy(&self, server: &Server, left: Left) -> Result<(), PaneError> {
        let snapshot = Snapshot::take(server).await?;
        if snapshot.rows.is_empty() {
            self.clear_socket(server).await;
            return Ok(());
        }
        let mut commands = arrange::unframe(&snapshot);
        let window = snapshot
            .rows
            .iter()
            .find(|row| Some(&row.window) == left.window.as_ref());
        if let Some(row) = window {
            let panes = snapshot.window(&row.session, &row.window);
            let lead = self
                .lead_pane()
                .filter(|_| server.socket() == self.socket());
            commands.extend(arrange::divide(&panes, lead, self.owner_of(server)));
            let zoomed = left.zoomed.filter(|id| snapshot.pane(id).is_some());
            commands.extend(zoomed.as_ref().map(zoom));
        }
        let batch = Batch::new().then_all(commands);
        if batch.is_empty() {
            return Ok(());
        }
        match server.run(&batch).await {
            // A window or pane that closed meanwhile, or the last one: nothing is left to put in order.
            Err(PaneError::Refused { message, .. }) if message.contains("can't find") => {
                tracing::debug!(%message, "what was to be tidied is gone");
                Ok(())
            }
            Err(PaneError::ServerGone { .. }) => {
                self.clear_socket(server).await;
                Ok(())
            }
            result => result.map(drop),
        }
    }

    /// Removes the socket of a server of ours that ends with its last pane.
    async fn clear_socket(&self, server: &Server) {
        if self.owner_of(server) == Owner::Swarm {
            remove_dead_socket(server.socket()).await;
        }
    }
}
