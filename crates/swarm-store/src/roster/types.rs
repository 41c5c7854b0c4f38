//! Types for adding and removing members.

use std::path::PathBuf;

use serde_json::Map;
use swarm_protocol::{
    AgentProgram, Event, Member, MemberName, PaneId, PermissionMode, Reservation, SpawnId, TaskId,
    UnixMs,
};

use crate::Draft;

/// A member to be spawned.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMember {
    /// Its roster entry. Without a colour, it gets the first unused one; without a session, the
    /// conversation of a dead member of the same name continues. The store sets its prompt, its id,
    /// the time and swarm's part.
    pub entry: Member,
    /// ID of the spawn.
    pub spawn_id: SpawnId,
    /// The spawner and its deadline.
    pub reservation: Reservation,
    /// Agent program that responds in its turns.
    pub runtime: AgentProgram,
    /// Permission mode in which it carries out an approved plan, if it plans first.
    pub work_mode: Option<PermissionMode>,
    /// The tmux server in which its pane will be, so that a rollback finds the pane.
    pub socket: Option<PathBuf>,
    /// The first message, which also becomes `prompt` in the roster. Without one, the member waits
    /// for mail.
    pub prompt: Option<Draft>,
}

impl NewMember {
    /// Creates a request with defaults for the optional fields.
    pub fn new(
        name: MemberName,
        spawn_id: SpawnId,
        reservation: Reservation,
        cwd: impl Into<PathBuf>,
    ) -> Self {
        let entry = Member {
            agent_id: String::new(),
            name,
            agent_type: None,
            model: None,
            prompt: None,
            color: None,
            plan_mode_required: Some(false),
            joined_at: UnixMs::default(),
            tmux_pane_id: PaneId::none(),
            cwd: cwd.into(),
            worktree_path: None,
            session_id: None,
            subscriptions: Some(Vec::new()),
            backend_type: None,
            is_active: Some(true),
            mode: None,
            swarm: None,
            rest: Map::new(),
        };
        Self {
            entry,
            spawn_id,
            reservation,
            runtime: AgentProgram::Swarm,
            work_mode: None,
            socket: None,
            prompt: None,
        }
    }
}

/// A spawn that was stopped, whose member is removed from the roster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedSpawn {
    /// ID of the spawn.
    pub spawn_id: SpawnId,
    /// How it stopped, for the journal.
    pub how: String,
}

impl StoppedSpawn {
    /// Creates the description of a spawn that stopped in this way.
    pub fn new(spawn_id: SpawnId, how: impl Into<String>) -> Self {
        let how = how.into();
        Self { spawn_id, how }
    }

    pub(crate) fn event(&self, member: &MemberName) -> Event {
        Event::MemberStopped {
            member: member.clone(),
            spawn_id: self.spawn_id,
            how: self.how.clone(),
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
