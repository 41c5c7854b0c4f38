//! What is asked for a new member, and what is told of a removed one.

use std::path::PathBuf;

use swarm_protocol::{
    BackendType, Color, Member, MemberName, PermissionMode, Reservation, SessionId, SpawnId, TaskId,
};

use crate::Draft;

/// A member to be spawned.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMember {
    /// Its name.
    pub name: MemberName,
    /// Which spawn this is.
    pub spawn_id: SpawnId,
    /// Who spawns, and until when.
    pub reservation: Reservation,
    /// Type of its definition.
    pub agent_type: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Its permission mode.
    pub mode: Option<PermissionMode>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its isolated worktree.
    pub worktree_path: Option<PathBuf>,
    /// Whether it must have a plan approved first.
    pub plan: bool,
    /// The first message. Its text also becomes the roster's `prompt`. Without one the member waits for mail.
    pub prompt: Option<Draft>,
    /// How it will run, when that is already known.
    pub backend: Option<BackendType>,
    /// The tmux server in which its pane will be, so that whoever undoes the spawn finds the pane.
    pub socket: Option<PathBuf>,
    /// Its conversation. Without one, that of the dead member of the same name is carried on, if there is one.
    pub session_id: Option<SessionId>,
    /// Its colour; without one the first that nobody has.
    pub color: Option<Color>,
}

impl NewMember {
    /// One of which nothing else is asked.
    pub fn new(
        name: MemberName,
        spawn_id: SpawnId,
        reservation: Reservation,
        cwd: impl Into<PathBuf>,
    ) -> Self {
        Self {
            name,
            spawn_id,
            reservation,
            agent_type: None,
            model: None,
            mode: None,
            cwd: cwd.into(),
            worktree_path: None,
            plan: false,
            prompt: None,
            backend: None,
            socket: None,
            session_id: None,
            color: None,
        }
    }
}

/// A member that was taken out of the roster.
#[derive(Debug, Clone, PartialEq)]
pub struct RemovedMember {
    /// Its last entry.
    pub member: Member,
    /// Tasks that were given back.
    pub released: Vec<TaskId>,
}
