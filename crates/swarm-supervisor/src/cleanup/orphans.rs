//! Panes of teams whose directory is gone: no roster and no journal tells of them, only what they bear themselves.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use swarm_panes::{PaneStatus, TerminalFacts, all_backends};
use swarm_store::blocking::TeamStore;

use super::panes::LeftPane;
use crate::process_list::canonical;

/// The panes in which nobody lives any more and that say of themselves that they are of this root and of a team of which it
/// has no directory: those on swarm's own servers, in the tmux of this terminal, and of members without a terminal.
///
/// Panes are listed before teams are looked for, so that one whose team is being made is never among them.
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
                && is_gone(&store.team(&pane.team).team_directory())
        });
        orphans.extend(ours.map(|tagged| LeftPane {
            tagged,
            backend: Arc::clone(&backend),
        }));
    }
    orphans
}

/// Whether there is provably nothing at a path.
fn is_gone(path: &Path) -> bool {
    path.symlink_metadata()
        .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}
