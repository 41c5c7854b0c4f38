//! Panes whose member has left the roster and whose process has ended.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use swarm_panes::{PaneBackend, PaneStatus, TaggedPane, all_backends};
use swarm_protocol::{Event, Member, SpawnId, TeamName};
use swarm_store::StoreError;

use crate::process_list::canonical;
use crate::{LeadError, SpawnContext};

/// A pane that nobody needs any more.
#[derive(Debug)]
pub struct LeftPane {
    /// The pane with its tags.
    pub tagged: TaggedPane,
    pub(super) backend: Arc<dyn PaneBackend>,
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

/// The panes of a team's former spawns, on the servers that its roster, its journal and this terminal name and on swarm's own. A
/// pane is ours only if the team's journal knows its spawn: teams of other roots may share name and server.
///
/// # Errors
/// Whatever the store says. A server that does not answer has no panes to close.
pub async fn left_panes(
    spawn_context: &SpawnContext,
    team: &TeamName,
) -> Result<Vec<LeftPane>, LeadError> {
    Ok(ended_panes(spawn_context, team, Former::of(spawn_context, team)?).await)
}

/// The panes of every spawn of a team whose roster cannot be read and whose processes have been ended.
///
/// # Errors
/// What reading the journal gives.
pub(crate) async fn panes_without_roster(
    spawn_context: &SpawnContext,
    team: &TeamName,
) -> Result<Vec<LeftPane>, LeadError> {
    let former = Former::in_journal(spawn_context, team)?;
    Ok(ended_panes(spawn_context, team, former).await)
}

async fn ended_panes(
    spawn_context: &SpawnContext,
    team: &TeamName,
    former: Former,
) -> Vec<LeftPane> {
    let root = canonical(&spawn_context.root);
    let mut left = Vec::new();
    for backend in all_backends(&former.sockets, &spawn_context.terminal) {
        let panes = match backend.panes(team).await {
            Ok(panes) => panes,
            Err(error) => {
                tracing::debug!(%team, %error, "panes not listed");
                continue;
            }
        };
        let ended = |pane: &TaggedPane| {
            !matches!(pane.status, PaneStatus::Running { .. }) && !pane.is_of_another(&root)
        };
        left.extend(
            panes
                .into_iter()
                .filter(|pane| former.spawns.contains(&pane.spawn_id) && ended(pane))
                .map(|tagged| LeftPane {
                    tagged,
                    backend: Arc::clone(&backend),
                }),
        );
    }
    left
}

/// Spawns of a team that are in its roster no more.
///
/// # Errors
/// Whatever the store says.
pub(crate) fn former_spawns(
    spawn_context: &SpawnContext,
    team: &TeamName,
) -> Result<HashSet<SpawnId>, StoreError> {
    Ok(Former::of(spawn_context, team)?.spawns)
}

/// Every spawn of a team, whether or not it is in the roster.
///
/// # Errors
/// What reading the journal gives.
pub(crate) fn spawns_in_journal(
    spawn_context: &SpawnContext,
    team: &TeamName,
) -> Result<HashSet<SpawnId>, StoreError> {
    Ok(Former::in_journal(spawn_context, team)?.spawns)
}

/// What is known of spawns that are in the roster no more.
struct Former {
    spawns: HashSet<SpawnId>,
    /// The servers in which panes were opened, whether or not the roster still names them.
    sockets: BTreeSet<PathBuf>,
}

impl Former {
    fn of(spawn_context: &SpawnContext, team: &TeamName) -> Result<Self, StoreError> {
        let former = Self::in_journal(spawn_context, team)?;
        // Read after the journal: whoever joins meanwhile is not in it.
        let roster = spawn_context.store.team(team).config()?;
        Ok(former.without(&roster.members))
    }

    /// Every spawn that the journal tells of.
    fn in_journal(spawn_context: &SpawnContext, team: &TeamName) -> Result<Self, StoreError> {
        let mut spawns = HashSet::new();
        let mut sockets = BTreeSet::new();
        for entry in spawn_context.store.team(team).events()?.entries {
            if let Event::SpawnReserved {
                spawn_id, socket, ..
            } = entry.event
            {
                spawns.insert(spawn_id);
                sockets.extend(socket);
            }
        }
        Ok(Self { spawns, sockets })
    }

    /// These but for those in the roster, whose servers are looked at too.
    fn without(mut self, roster: &[Member]) -> Self {
        for member in roster {
            if let Some(mark) = &member.swarm {
                self.spawns.remove(&mark.spawn_id);
                self.sockets.extend(mark.socket.clone());
            }
        }
        self
    }
}
