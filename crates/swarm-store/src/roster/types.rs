//! Types for adding and removing members.

use std::path::PathBuf;

use swarm_protocol::{
    AgentProgram, BackendType, Color, Member, MemberName, PermissionMode, Reservation, SessionId,
    SpawnId, TaskId,
};

use crate::Draft;

/// A member to be spawned.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMember {
    /// Name of the member.
    pub name: MemberName,
    /// ID of the spawn.
    pub spawn_id: SpawnId,
    /// The spawner and its deadline.
    pub reservation: Reservation,
    /// Agent type.
    pub agent_type: Option<String>,
    /// Agent program that responds in its turns.
    pub runtime: AgentProgram,
    /// Model of the member.
    pub model: Option<String>,
    /// Permission mode of the member.
    pub mode: Option<PermissionMode>,
    /// Working directory of the member.
    pub cwd: PathBuf,
    /// Worktree of the member, if it has one.
    pub worktree_path: Option<PathBuf>,
    /// Whether it must have a plan approved first.
    pub plan: bool,
    /// The first message, which also becomes `prompt` in the roster. Without one, the member waits
    /// for mail.
    pub prompt: Option<Draft>,
    /// Backend, if already known.
    pub backend: Option<BackendType>,
    /// The tmux server in which its pane will be, so that a rollback finds the pane.
    pub socket: Option<PathBuf>,
    /// ID of its conversation. Without one, the conversation of a dead member of the same name
    /// continues.
    pub session_id: Option<SessionId>,
    /// Colour; without one, the first unused colour.
    pub color: Option<Color>,
}

impl NewMember {
    /// Creates a request with defaults for the optional fields.
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
            runtime: AgentProgram::Swarm,
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

/// A member that was removed from the roster.
#[derive(Debug, Clone, PartialEq)]
pub struct RemovedMember {
    /// Its last roster entry.
    pub member: Member,
    /// Tasks that were released.
    pub released: Vec<TaskId>,
}
