//! Adding teammates: what the Agent tool asks for, and who can grant it.

use std::fmt;
use std::path::PathBuf;

use async_trait::async_trait;
use swarm_permissions::Isolation;
use swarm_protocol::{AgentId, Color, Effort, MemberName, PaneId, PermissionMode};
use tokio_util::sync::CancellationToken;

/// A teammate as a model asked for it. Nothing in it is checked against rights yet: that is the spawner's part.
#[derive(Debug, Clone)]
pub struct SpawnRequest {
    /// Its name.
    pub name: MemberName,
    /// Its definition; `None` is the general one.
    pub agent_type: Option<String>,
    /// Its first message.
    pub prompt: String,
    /// Its work in a few words.
    pub description: String,
    /// Its model; `None` inherits.
    pub model: Option<String>,
    /// Its effort; `None` is its definition's, or inherits.
    pub effort: Option<Effort>,
    /// Its permission mode; `None` inherits.
    pub mode: Option<PermissionMode>,
    /// Whether it must have a plan approved before it changes anything.
    pub plan: bool,
    /// Its working directory; `None` inherits.
    pub cwd: Option<PathBuf>,
    /// Its isolation; `None` shares the working directory.
    pub isolation: Option<Isolation>,
    /// The team that the model named; `None` is the caller's.
    pub team: Option<String>,
    /// Falls when the caller's turn is interrupted: the spawn is then undone.
    pub cancel: CancellationToken,
}

/// A teammate that is there: its hello was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawned {
    /// `name@team`.
    pub agent_id: AgentId,
    /// Its colour.
    pub color: Option<Color>,
    /// The model in force.
    pub model: String,
    /// The mode in force.
    pub mode: PermissionMode,
    /// Where it can be watched.
    pub pane: PaneId,
    /// A sentence for the model where something is worth knowing; may be empty.
    pub note: String,
}

/// Who can add teammates.
#[async_trait]
pub trait TeammateSpawner: Send + Sync + fmt::Debug {
    /// Spawns a teammate and returns once it is committed. The error is for the model: what happened and what to do.
    async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, String>;
}

/// The spawner of everybody but the lead.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSpawner;

#[async_trait]
impl TeammateSpawner for NoSpawner {
    async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, String> {
        Err(format!(
            "`{}` was not spawned; the roster is flat: only the team lead adds teammates. Ask team-lead for it with SendMessage",
            request.name
        ))
    }
}
