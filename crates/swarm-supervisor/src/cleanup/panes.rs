//! Panes whose member has left the roster or whose team was removed, and whose process has exited.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_panes::{PaneBackend, PaneStatus, TaggedPane, TerminalFacts, all_backends};
use swarm_protocol::{Event, Member, SpawnId, TeamName};
use swarm_store::{BlockOn as _, StoreError, TeamStore};

use crate::process_list::canonical;
use crate::{LeadError, SupervisedTeam};

/// A pane that is no longer needed.
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

impl SupervisedTeam<'_> {
    /// Returns the panes of a team's former spawns on the servers named by its roster, its journal
    /// and this terminal, and on swarm's own. The team's journal must contain the spawn of a pane,
    /// because teams in other config directories may share name and server.
    ///
    /// # Errors
    /// Returns an error if the store fails. A server that does not respond has no panes to close.
    pub async fn left_panes(self) -> Result<Vec<LeftPane>, LeadError> {
        Ok(self.ended_panes(Former::of(self)?).await)
    }

    /// Returns the panes of these spawns whose processes have exited.
    pub(crate) async fn ended_panes(self, former: Former) -> Vec<LeftPane> {
        let root = canonical(&self.context.root);
        let mut left = Vec::new();
        for backend in all_backends(&former.sockets, &self.context.terminal) {
            let panes = match backend.panes(self.name).await {
                Ok(panes) => panes,
                Err(error) => {
                    tracing::debug!(team = %self.name, %error, "panes not listed");
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
}

/// Data about spawns that are no longer in the roster.
pub(crate) struct Former {
    pub(crate) spawns: HashSet<SpawnId>,
    /// Servers in which panes were opened, whether or not the roster still names them.
    sockets: BTreeSet<PathBuf>,
}

impl Former {
    /// Returns the spawns of a team that are no longer in its roster.
    pub(crate) fn of(team: SupervisedTeam<'_>) -> Result<Self, StoreError> {
        let former = Self::in_journal(team)?;
        // Read after the journal, so that members that join meanwhile are not included.
        let roster = team.files().config().block_on()?;
        Ok(former.without(&roster.members))
    }

    /// Returns every spawn in the journal, whether or not it is in the roster.
    pub(crate) fn in_journal(team: SupervisedTeam<'_>) -> Result<Self, StoreError> {
        let mut spawns = HashSet::new();
        let mut sockets = BTreeSet::new();
        for entry in team.files().events().block_on()?.entries {
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

    /// Returns these spawns without those in the roster, and adds the servers that the roster
    /// names.
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

/// Returns whether nothing is stored of a team. A team on a hub is known from its file here: nobody
/// waits for a hub that does not answer.
fn is_gone(store: &dyn TeamStore, team: &TeamName) -> bool {
    let team = store.team(team);
    !team.is_remote() && matches!(team.is_stored().block_on(), Ok(false))
}
