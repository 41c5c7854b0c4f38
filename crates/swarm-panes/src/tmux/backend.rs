//! The state of a tmux backend and helper methods for its operations.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::{PaneId, SpawnId};

use super::arrange::Owner;
use super::batch::Batch;
use super::commands::{self, KILLED};
use super::layout_lock::{LayoutLock, layout_lock};
use super::own_server::{UNWATCHED, is_own_socket};
use super::placement::{self, Lead, NoSplitReason, Placement};
use super::program::Child;
use super::server::{Server, socket_of};
use super::snapshot::{Snapshot, Tag};
use crate::{Pane, PaneError, PanePlacement, PaneSpec, PaneStatus, Size};

/// Panes of one tmux server: the user's, around the lead's pane, or swarm's own.
#[derive(Debug)]
pub struct TmuxBackend {
    server: Server,
    role: Role,
    /// Whether this process itself runs in a tmux pane; tmux refuses to attach there unless `TMUX`
    /// is unset.
    pub(super) nested: bool,
    /// Serializes opening and closing of panes because both change the layout.
    pub(super) layout: Arc<LayoutLock>,
    /// Programs started by this process.
    children: Mutex<Vec<(Pane, Child)>>,
}

#[derive(Debug)]
enum Role {
    /// On the user's server, around the lead.
    Inside(Lead),
    /// On swarm's own server.
    Own,
    /// On any server, with access to existing panes only.
    AnyServer,
}

impl TmuxBackend {
    /// The user's server, for a lead that runs in one of its panes. `tmux_env` and `tmux_pane` are
    /// the values of `TMUX` and `TMUX_PANE`.
    ///
    /// # Errors
    /// [`PaneError::Invalid`] if the values are not in tmux's format.
    pub fn inside(
        program: PathBuf,
        tmux_env: &str,
        tmux_pane: &str,
        place: PanePlacement,
    ) -> Result<Self, PaneError> {
        let pane = checked(&PaneId::new(tmux_pane))?.clone();
        let server = Server::existing(program, socket_of(tmux_env)?);
        Ok(Self::new(server, Role::Inside(Lead { pane, place })))
    }

    /// swarm's own server at `socket`, which starts with the first pane and exits with the last
    /// one. The server and every pane on it get exactly `environment` (plus the environment of each
    /// command).
    ///
    /// # Errors
    /// [`PaneError::Invalid`] if the path is too long for a socket, or its file name is not that of
    /// a socket of swarm's: options must never be set on a server of the user's.
    pub fn own(
        program: PathBuf,
        socket: PathBuf,
        environment: Vec<(String, String)>,
    ) -> Result<Self, PaneError> {
        if !is_own_socket(&socket) {
            return Err(PaneError::Invalid {
                what: "socket path",
                given: socket.display().to_string(),
                why: "sockets of swarm's own servers are named claude-swarm-<number>; this may be the user's server",
            });
        }
        let server = Server::own(program, socket, environment)?;
        Ok(Self::new(server, Role::Own))
    }

    /// Any server in a roster, to inspect and close its panes; [`crate::PaneBackend::open`] fails.
    pub fn for_server(program: PathBuf, socket: PathBuf) -> Self {
        Self::new(Server::existing(program, socket), Role::AnyServer)
    }

    /// Sets whether this process runs in a tmux pane, which determines the attach command.
    #[must_use]
    pub fn nested(mut self, nested: bool) -> Self {
        self.nested = nested;
        self
    }

    fn new(server: Server, role: Role) -> Self {
        let nested = matches!(role, Role::Inside(_));
        let layout = layout_lock(server.socket());
        Self {
            server,
            role,
            nested,
            layout,
            children: Mutex::default(),
        }
    }

    /// Stores the program started in a pane, so that its exit can be awaited without tmux.
    pub(super) fn remember(&self, pane: &Pane, child: Option<Child>) {
        let mut children = self.children.lock();
        children.retain(|(known, _)| !is_same(known, pane));
        children.extend(child.map(|child| (pane.clone(), child)));
    }

    /// Returns the program started in a pane by this process.
    pub(super) fn child_in(&self, pane: &Pane) -> Option<Child> {
        let children = self.children.lock();
        let found = children.iter().find(|(known, _)| is_same(known, pane));
        found.map(|(_, child)| *child)
    }

    /// Returns the socket of the server.
    pub fn socket(&self) -> &Path {
        self.server.socket()
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// Returns whether the server contains this process's own pane.
    pub(super) fn is_inside(&self) -> bool {
        matches!(self.role, Role::Inside(_))
    }

    pub(super) fn lead_pane(&self) -> Option<&PaneId> {
        match &self.role {
            Role::Inside(lead) => Some(&lead.pane),
            Role::Own | Role::AnyServer => None,
        }
    }

    pub(super) fn owner(&self) -> Owner {
        self.owner_of(&self.server)
    }

    /// Returns the owner of a server. A lead may run on a server with a name of swarm's; sizes
    /// belong to the user there too.
    pub(super) fn owner_of(&self, server: &Server) -> Owner {
        let is_leads = self.is_inside() && server.socket() == self.socket();
        if is_own_socket(server.socket()) && !is_leads {
            Owner::Swarm
        } else {
            Owner::User
        }
    }

    /// Returns the size of windows without an attached client; `None` if the user controls sizes.
    pub(super) fn unwatched(&self) -> Option<Size> {
        (self.owner() == Owner::Swarm).then_some(UNWATCHED)
    }

    /// Returns whether opening fails if there is no room next to the lead.
    pub(super) fn requires_split(&self) -> bool {
        matches!(&self.role, Role::Inside(lead) if lead.requires_split())
    }

    /// Returns the position of the next pane, and the reason if it is not next to the lead.
    pub(super) fn select_placement(
        &self,
        snapshot: &Snapshot,
        spec: &PaneSpec,
    ) -> Result<(Placement, Option<NoSplitReason>), PaneError> {
        match &self.role {
            Role::Own => {
                let placement = placement::on_own_server(snapshot, &spec.team, UNWATCHED);
                Ok((placement, None))
            }
            Role::Inside(lead) => {
                let found = placement::in_users_tmux(snapshot, lead, &spec.team);
                match found.ok_or_else(|| PaneError::LeadPaneGone {
                    pane: lead.pane.to_string(),
                    socket: self.server.socket().to_owned(),
                })? {
                    (_, Some(why)) if lead.requires_split() => Err(PaneError::NoSplit(why)),
                    found => Ok(found),
                }
            }
            Role::AnyServer => Err(PaneError::NoLeadPane(self.server.socket().to_owned())),
        }
    }

    /// Returns the current status of a pane.
    pub(super) async fn current_status(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        let id = checked(&pane.id)?;
        let snapshot = Snapshot::take_current(&self.server_of(pane)).await?;
        Ok(snapshot
            .pane(id)
            .map_or(PaneStatus::Gone, |row| row.status.clone()))
    }

    /// Returns the server of a pane: a roster may name another one.
    pub(super) fn server_of(&self, pane: &Pane) -> Server {
        match &pane.socket {
            Some(socket) if socket != self.server.socket() => {
                Server::existing(self.server.program().to_owned(), socket.clone())
            }
            _ => self.server.clone(),
        }
    }

    /// Runs commands for one pane; a missing pane or server is [`PaneError::Gone`].
    pub(super) async fn run_on(&self, pane: &Pane, batch: &Batch) -> Result<String, PaneError> {
        let result = self.server_of(pane).run(batch).await;
        result.map_err(|error| match error {
            PaneError::ServerGone(_) => PaneError::Gone(pane.id.clone()),
            error => of_missing_pane(&pane.id, error),
        })
    }

    /// Kills a pane if it still has this tag.
    pub(super) async fn kill(
        &self,
        server: &Server,
        id: &PaneId,
        tag: &Tag,
    ) -> Result<(), PaneError> {
        let kill = Batch::new().then(&commands::kill_if(id, tag));
        match server.run(&kill).await {
            Ok(answer) if answer.trim() == KILLED => Ok(()),
            // The server exits with its last pane, sometimes before it answers.
            Err(PaneError::ServerGone(_)) => Ok(()),
            Ok(_) => match Snapshot::take(server).await?.pane(id) {
                None => Ok(()),
                Some(_) => Err(foreign(id, &tag.spawn_id, "another spawn uses it")),
            },
            Err(error) => Err(error),
        }
    }
}

/// Returns whether both refer to the same pane, ignoring its position.
fn is_same(one: &Pane, other: &Pane) -> bool {
    one.id == other.id && one.socket == other.socket
}

/// Creates the error for a pane that belongs to others.
pub(super) fn foreign(pane: &PaneId, expected: &SpawnId, found: impl Into<String>) -> PaneError {
    PaneError::Foreign {
        pane: pane.clone(),
        expected: expected.to_string(),
        found: found.into(),
    }
}

/// Returns whether a text is a tmux pane id: `%` and digits.
pub(super) fn is_pane_id(text: &str) -> bool {
    text.strip_prefix('%')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Validates a pane id: rosters are untrusted, and the id is used in tmux commands.
pub(super) fn checked(id: &PaneId) -> Result<&PaneId, PaneError> {
    if is_pane_id(id.as_str()) {
        Ok(id)
    } else {
        Err(PaneError::Invalid {
            what: "pane id",
            given: id.to_string(),
            why: "expected `%` followed by a number",
        })
    }
}

/// Returns [`PaneError::Gone`] if tmux rejected commands because the pane does not exist, and other
/// errors as they are.
pub(super) fn of_missing_pane(pane: &PaneId, error: PaneError) -> PaneError {
    match &error {
        PaneError::Refused { message, .. }
            if message.contains("can't find pane") || message.contains("no such pane") =>
        {
            PaneError::Gone(pane.clone())
        }
        _ => error,
    }
}
