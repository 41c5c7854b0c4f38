//! Cleanup of a window after a pane has closed.

use swarm_protocol::PaneId;

use super::arrange::{self, Owner};
use super::backend::TmuxBackend;
use super::batch::Batch;
use super::commands::zoom;
use super::own_server::remove_dead_socket;
use super::server::Server;
use super::snapshot::{Snapshot, Zoom};
use crate::PaneError;

/// State of the window of a closing pane.
#[derive(Debug, Default)]
pub(crate) struct ClosingWindow {
    window: Option<String>,
    /// The zoomed pane: tmux unzooms a window when a pane closes.
    zoomed: Option<PaneId>,
}

impl ClosingWindow {
    /// Records the state before `closing` is closed.
    pub(crate) fn of(before: &Snapshot, closing: &PaneId) -> Self {
        let Some(row) = before.pane(closing) else {
            return Self::default();
        };
        let window = before.window(&row.session, &row.window);
        let zoomed = window.iter().find(|pane| pane.zoom == Zoom::Zoomed);
        Self {
            window: Some(row.window.clone()),
            zoomed: zoomed
                .map(|pane| pane.id.clone())
                .filter(|pane| pane != closing),
        }
    }
}

impl TmuxBackend {
    /// Rearranges the window that lost a pane, restores its zoom, and removes swarm's options from
    /// windows without teammates.
    ///
    /// # Errors
    /// [`PaneError`] if the server does not answer properly. The pane is closed in any case.
    pub(super) async fn tidy(&self, server: &Server, left: ClosingWindow) -> Result<(), PaneError> {
        let snapshot = Snapshot::take(server).await?;
        if snapshot.rows.is_empty() {
            self.clear_socket(server).await;
            return Ok(());
        }
        let mut commands = arrange::remove_options(&snapshot);
        let window = snapshot
            .rows
            .iter()
            .find(|row| Some(&row.window) == left.window.as_ref());
        if let Some(row) = window {
            let panes = snapshot.window(&row.session, &row.window);
            let lead = self
                .lead_pane()
                .filter(|_| server.socket() == self.socket());
            commands.extend(arrange::arrange_window(&panes, lead, self.owner_of(server)));
            let zoomed = left.zoomed.filter(|id| snapshot.pane(id).is_some());
            commands.extend(zoomed.as_ref().map(zoom));
        }
        let batch = Batch::new().then_all(commands);
        if batch.is_empty() {
            return Ok(());
        }
        match server.run(&batch).await {
            // A window or pane closed meanwhile, or it was the last one: nothing to clean up.
            Err(PaneError::Refused { message, .. }) if message.contains("can't find") => {
                tracing::debug!(%message, "window is gone, no cleanup needed");
                Ok(())
            }
            Err(PaneError::ServerGone(_)) => {
                self.clear_socket(server).await;
                Ok(())
            }
            result => result.map(drop),
        }
    }

    /// Removes the socket of swarm's own server if it exits with its last pane.
    async fn clear_socket(&self, server: &Server) {
        if self.owner_of(server) == Owner::Swarm {
            remove_dead_socket(server.socket()).await;
        }
    }
}
