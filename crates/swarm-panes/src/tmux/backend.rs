//! What a tmux backend knows, and what its verbs share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::{PaneId, SpawnId};

use super::arrange::Owner;
use super::batch::Batch;
use super::commands::{self, KILLED};
use super::layout_lock::{LayoutLock, layout_lock};
use super::own_server::{UNWATCHED, is_own_socket};
use super::placement::{self, Lead, Placement, WhyNot};
use super::program::Child;
use super::server::{Server, socket_of};
use super::snapshot::{Snapshot, Tag};
use crate::{Pane, PaneError, PaneSpec, PaneStatus, Place, Size};

/// Panes of one tmux server: the user's, around the lead's pane, or our own.
#[derive(Debug)]
pub struct TmuxBackend {
    server: Server,
    role: Role,
    /// Whether this process itself runs in some tmux pane: tmux refuses to attach there unless told.
    pub(super) nested: bool,
    /// Opening and closing change the layout: one at a time.
    pub(super) layout: Arc<LayoutLock>,
    /// The programs that were started from here.
    children: Mutex<Vec<(Pane, Child)>>,
}

#[derive(Debug)]
enum Role {
    /// In the user's server, around the lead.
    Inside(Lead),
    /// Our own server.
    Own,
    /// Any server, to reach panes that are there.
    Visitor,
}

impl TmuxBackend {
    /// The user's server, for a lead that runs in one of its panes. `tmux_env` and `tmux_pane` are the values of the
    /// variables `TMUX` and `TMUX_PANE`.
    ///
    /// # Errors
    /// [`PaneError::Invalid`] when they are not what tmux sets.
    pub fn inside(
        program: PathBuf,
        tmux_env: &str,
        tmux_pane: &str,
        place: Place,
    ) -> Result<Self, PaneError> {
        let pane = checked(&PaneId::new(tmux_pane))?.clone();
        let server = Server::existing(program, socket_of(tmux_env)?);
        Ok(Self::new(server, Role::Inside(Lead { pane, place })))
    }

    /// Our own server at `socket`, started by the first pane and ended with the last. It and every pane on it get
    /// exactly `environment` (and what each pane is started with).
    ///
    /// # Errors
    /// [`PaneError::Invalid`] when the path is too long for a socket, or its file name is not that of a socket of ours:
    /// a server of the user's must never get our options.
    pub fn own(
        program: PathBuf,
        socket: PathBuf,
        environment: Vec<(String, String)>,
    ) -> Result<Self, PaneError> {
        if !is_own_socket(&socket) {
            return Err(PaneError::Invalid {
                what: "socket path",
                given: socket.display().to_string(),
                why: "a server of our own is named claude-swarm-<number>; this may be the user's",
            });
        }
        let server = Server::own(program, socket, environment)?;
        Ok(Self::new(server, Role::Own))
    }

    /// Whatever server a roster names, to look at its panes and end them; [`crate::PaneBackend::open`] is refused.
    pub fn visitor(program: PathBuf, socket: PathBuf) -> Self {
        Self::new(Server::existing(program, socket), Role::Visitor)
    }

    /// Says whether this process runs in a pane of some tmux, which decides how a person is brought to a pane.
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

    /// Notes what was started in a pane, so that its end can be waited for without asking tmux.
    pub(super) fn remember(&self, pane: &Pane, child: Option<Child>) {
        let mut children = self.children.lock();
        children.retain(|(known, _)| !is_same(known, pane));
        children.extend(child.map(|child| (pane.clone(), child)));
    }

    /// What was started in a pane from here.
    pub(super) fn child_in(&self, pane: &Pane) -> Option<Child> {
        let children = self.children.lock();
        let found = children.iter().find(|(known, _)| is_same(known, pane));
        found.map(|(_, child)| *child)
    }

    /// The socket of the server.
    pub fn socket(&self) -> &Path {
        self.server.socket()
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// Whether the server is the one of this process's own pane.
    pub(super) fn is_inside(&self) -> bool {
        matches!(self.role, Role::Inside(_))
    }

    pub(super) fn lead_pane(&self) -> Option<&PaneId> {
        match &self.role {
            Role::Inside(lead) => Some(&lead.pane),
            Role::Own | Role::Visitor => None,
        }
    }

    pub(super) fn owner(&self) -> Owner {
        self.owner_of(&self.server)
    }

    /// Whose server it is. A lead may run in a window of one that has our name: sizes are the user's there too.
    pub(super) fn owner_of(&self, server: &Server) -> Owner {
        let is_leads = self.is_inside() && server.socket() == self.socket();
        if is_own_socket(server.socket()) && !is_leads {
            Owner::Swarm
        } else {
            Owner::User
        }
    }

    /// The size that windows may be given while nobody looks at them; none where sizes are the user's.
    pub(super) fn unwatched(&self) -> Option<Size> {
        (self.owner() == Owner::Swarm).then_some(UNWATCHED)
    }

    /// Whether a pane that finds no place beside the lead is to be no pane at all.
    pub(super) fn insists_on_split(&self) -> bool {
        matches!(&self.role, Role::Inside(lead) if lead.insists())
    }

    /// Where the next pane goes, and why not beside the lead.
    pub(super) fn place(
        &self,
        snapshot: &Snapshot,
        spec: &PaneSpec,
    ) -> Result<(Placement, Option<WhyNot>), PaneError> {
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
                    (_, Some(why)) if lead.insists() => Err(PaneError::NoSplit { why }),
                    found => Ok(found),
                }
            }
            Role::Visitor => Err(PaneError::NoPlace {
                socket: self.server.socket().to_owned(),
            }),
        }
    }

    /// The state of a pane at this moment.
    pub(super) async fn look(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        let id = checked(&pane.id)?;
        let snapshot = Snapshot::take_settled(&self.server_of(pane)).await?;
        Ok(snapshot
            .pane(id)
            .map_or(PaneStatus::Gone, |row| row.status.clone()))
    }

    /// The server that holds a pane: a roster may name another than ours.
    pub(super) fn server_of(&self, pane: &Pane) -> Server {
        match &pane.socket {
            Some(socket) if socket != self.server.socket() => {
                Server::existing(self.server.program().to_owned(), socket.clone())
            }
            _ => self.server.clone(),
        }
    }

    /// Runs commands about one pane; that it is not there is [`PaneError::Gone`].
    pub(super) async fn run_on(&self, pane: &Pane, batch: &Batch) -> Result<String, PaneError> {
        self.server_of(pane)
            .run(batch)
            .await
            .map_err(|error| match &error {
                PaneError::ServerGone { .. } => PaneError::Gone {
                    pane: pane.id.clone(),
                },
                PaneError::Refused { message, .. }
                    if message.contains("can't find pane") || message.contains("no such pane") =>
                {
                    PaneError::Gone {
                        pane: pane.id.clone(),
                    }
                }
                _ => error,
            })
    }

    /// Kills a pane if it still is the one with this tag.
    pub(super) async fn kill(
        &self,
        server: &Server,
        id: &PaneId,
        tag: &Tag,
    ) -> Result<(), PaneError> {
        let kill = Batch::new().then(&commands::kill_if(id, tag));
        match server.run(&kill).await {
            Ok(answer) if answer.trim() == KILLED => Ok(()),
            // The server ends with its last pane, sometimes before it answers.
            Err(PaneError::ServerGone { .. }) => Ok(()),
            Ok(_) => match Snapshot::take(server).await?.pane(id) {
                None => Ok(()),
                Some(_) => Err(foreign(id, &tag.spawn_id, "another spawn has its place")),
            },
            Err(error) => Err(error),
        }
    }
}

/// Whether both are one pane: where it is to be found is no part of it.
fn is_same(one: &Pane, other: &Pane) -> bool {
    one.id == other.id && one.socket == other.socket
}

/// The refusal to touch a pane.
pub(super) fn foreign(pane: &PaneId, expected: &SpawnId, found: impl Into<String>) -> PaneError {
    PaneError::Foreign {
        pane: pane.clone(),
        expected: expected.to_string(),
        found: found.into(),
    }
}

/// Whether a text is the id of a tmux pane: `%` and digits.
pub(super) fn is_pane_id(text: &str) -> bool {
    text.strip_prefix('%')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// The id, checked: what a roster says goes into tmux commands.
pub(super) fn checked(id: &PaneId) -> Result<&PaneId, PaneError> {
    if is_pane_id(id.as_str()) {
        Ok(id)
    } else {
        Err(PaneError::Invalid {
            what: "pane id",
            given: id.to_string(),
            why: "a tmux pane is addressed by `%` and a number",
        })
    }
}
