//! Panes whose member has left the roster and whose process has ended.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use swarm_panes::{PaneBackend, PaneStatus, TaggedPane, reach};
use swarm_protocol::{BackendType, Event, Member, SpawnId, TeamName};
use swarm_store::StoreError;

use super::sockets::own_sockets;
use crate::{Deployment, LeadError};

/// A pane that nobody needs any more.
#[derive(Debug)]
pub struct LeftPane {
    /// The pane with its tags.
    pub tagged: TaggedPane,
    backend: Arc<dyn PaneBackend>,
}

impl LeftPane {
    /// Closes it.
    ///
    /// # Errors
    /// [`LeadError::Pane`].
    pub async fn close(&self) -> Result<(), LeadError> {
        let spawn_id = self.tagged.spawn_id;
        Ok(self.backend.close(&self.tagged.pane, &spawn_id).await?)
    }
}

/// The panes of a team's former spawns, on the servers that its roster and this terminal name and on swarm's own. A
/// pane is ours only if the team's journal knows its spawn: teams of other roots may share name and server.
///
/// # Errors
/// Whatever the store says. A server that does not answer has no panes to close.
pub async fn left_panes(
    deployment: &Deployment,
    team: &TeamName,
) -> Result<Vec<LeftPane>, LeadError> {
    let former = former_spawns(deployment, team)?;
    let mut left = Vec::new();
    for backend in places(deployment, team)? {
        let panes = match backend.panes(team).await {
            Ok(panes) => panes,
            Err(error) => {
                tracing::debug!(%team, %error, "panes not listed");
                continue;
            }
        };
        let ended = |pane: &TaggedPane| !matches!(pane.status, PaneStatus::Running { .. });
        left.extend(
            panes
                .into_iter()
                .filter(|pane| former.contains(&pane.spawn_id) && ended(pane))
                .map(|tagged| LeftPane {
                    tagged,
                    backend: Arc::clone(&backend),
                }),
        );
    }
    Ok(left)
}

fn former_spawns(deployment: &Deployment, team: &TeamName) -> Result<HashSet<SpawnId>, StoreError> {
    let events = deployment.store.events(team)?.entries.into_iter();
    let mut former: HashSet<SpawnId> = events
        .filter_map(|entry| match entry.event {
            Event::SpawnReserved { spawn_id, .. } => Some(spawn_id),
            _ => None,
        })
        .collect();
    // Read after the journal: whoever joins meanwhile is not in it.
    for spawn in deployment
        .store
        .config(team)?
        .teammates()
        .filter_map(Member::spawn_id)
    {
        former.remove(&spawn);
    }
    Ok(former)
}

fn places(
    deployment: &Deployment,
    team: &TeamName,
) -> Result<Vec<Arc<dyn PaneBackend>>, StoreError> {
    let facts = &deployment.terminal;
    let config = deployment.store.config(team)?;
    let mut sockets: BTreeSet<PathBuf> = config
        .teammates()
        .filter_map(|member| member.swarm.as_ref()?.socket.clone())
        .collect();
    sockets.extend(own_sockets(&facts.own_socket_dir));
    let here = facts
        .tmux_env
        .as_deref()
        .and_then(|env| env.split(',').next());
    sockets.extend(here.map(PathBuf::from));
    let servers = sockets
        .iter()
        .filter_map(|socket| reach(&BackendType::Tmux, Some(socket), facts).ok());
    let headless = reach(&BackendType::Headless, None, facts).ok();
    Ok(servers.chain(headless).collect())
}
