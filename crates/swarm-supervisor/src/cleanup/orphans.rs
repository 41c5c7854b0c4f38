//! Panes of teams whose directory was removed, found by the tags of the panes.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use swarm_panes::{PaneStatus, TerminalFacts, all_backends};
use swarm_protocol::TeamName;
use swarm_store::{BlockOn as _, TeamStore};

use super::panes::LeftPane;
use crate::process_list::canonical;

/// Returns the panes without a running process whose tags name this config directory and a team
/// without a directory: on swarm's own servers, in the tmux server of this terminal, and of
/// headless members.
///
/// Panes are listed before teams are looked up, so that a pane of a team that is being created is
/// never included.
pub async fn orphaned_panes(
    store: &dyn TeamStore,
    root: &Path,
    facts: &TerminalFacts,
) -> Vec<LeftPane> {
    let root = canonical(root);
    let mut orphans = Vec::new();
    for backend in all_backends(&BTreeSet::new(), facts) {
        let panes = match backend.all_panes().await {
            Ok(panes) => panes,
            Err(error) => {
                tracing::debug!(%error, "panes not listed");
                continue;
            }
        };
        let ours = panes.into_iter().filter(|pane| {
            pane.root.as_deref() == Some(&*root)
                && !matches!(pane.status, PaneStatus::Running { .. })
                && is_gone(store, &pane.team)
        });
        orphans.extend(ours.map(|tagged| LeftPane {
            tagged,
            backend: Arc::clone(&backend),
        }));
    }
    orphans
}

/// Returns whether nothing is stored of a team.
fn is_gone(store: &dyn TeamStore, team: &TeamName) -> bool {
    matches!(store.team(team).is_stored().block_on(), Ok(false))
}
