//! Spawning teammates for the Agent tool.

use std::fmt;
use std::path::PathBuf;

use async_trait::async_trait;
use swarm_permissions::Isolation;
use swarm_protocol::{AgentId, Color, Effort, MemberName, PaneId, PermissionMode};
use tokio_util::sync::CancellationToken;

/// A model's request for a teammate. The spawner checks it against the caller's permissions.
#[derive(Debug, Clone)]
pub struct SpawnRequest {
    /// Name of the new member.
    pub name: MemberName,
    /// Agent type; `None` uses the general-purpose type.
    pub agent_type: Option<String>,
    /// First message to the teammate.
    pub prompt: String,
    /// Summary of its work in a few words.
    pub description: String,
    /// Model; `None` inherits the caller's.
    pub model: Option<String>,
    /// Effort; `None` uses the definition's, or else inherits the caller's.
    pub effort: Option<Effort>,
    /// Permission mode; `None` inherits the caller's.
    pub mode: Option<PermissionMode>,
    /// Whether the teammate needs an approved plan before it changes anything.
    pub plan: bool,
    /// Working directory; `None` inherits the caller's.
    pub cwd: Option<PathBuf>,
    /// Isolation; `None` shares the working directory.
    pub isolation: Option<Isolation>,
    /// Team that the model named; `None` is the caller's.
    pub team: Option<String>,
    /// Cancelled when the caller's turn is interrupted; the spawn is undone then.
    pub cancel: CancellationToken,
}

/// A committed teammate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawned {
    /// `name@team`.
    pub agent_id: AgentId,
    /// Colour in panes and lists.
    pub color: Option<Color>,
    /// Effective model.
    pub model: String,
    /// Effective permission mode.
    pub mode: PermissionMode,
    /// Pane that shows the teammate.
    pub pane: PaneId,
    /// Additional remark for the model; may be empty.
    pub note: String,
}

/// Spawns teammates for an agent.
#[async_trait]
pub trait TeammateSpawner: Send + Sync + fmt::Debug {
    /// Spawns a teammate and returns once it is committed. The error is for the model: what failed
    /// and what to do.
    async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, String>;
}

/// The spawner of agents other than the lead: it refuses every request.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSpawner;

#[async_trait]
impl TeammateSpawner for NoSpawner {
    async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, String> {
        Err(format!(
            "`{}` was not spawned: only the team lead can add teammates. Send a request to team-lead with SendMessage",
            request.name
        ))
    }
}
