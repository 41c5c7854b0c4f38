//! Options and result of a spawn.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use swarm_panes::BackendRequest;
use swarm_protocol::{
    AgentId, AgentProgram, BackendType, Color, Effort, Hello, MemberName, PaneId, PermissionMode,
    SpawnId,
};
use swarm_store::Draft;
use swarm_worktree::{Created, Slug, Uncommitted};
use tokio_util::sync::CancellationToken;

/// A member to spawn. `None` inherits the value.
#[derive(Debug, Clone)]
pub struct SpawnOptions {
    /// Name.
    pub name: MemberName,
    /// Agent type.
    pub agent_type: Option<String>,
    /// Initial prompt.
    pub prompt: Option<Draft>,
    /// Agent program; `None` uses that of its definition, otherwise swarm's own turn loop.
    pub runtime: Option<AgentProgram>,
    /// Model.
    pub model: Option<String>,
    /// Effort; overrides its definition.
    pub effort: Option<Effort>,
    /// Permission mode. `plan` is equivalent to [`Self::plan`] without a mode.
    pub mode: Option<PermissionMode>,
    /// Whether its plan must be approved before it changes anything; afterwards it works in its
    /// mode.
    pub plan: bool,
    /// Working directory.
    pub cwd: PathBuf,
    /// Separate worktree; `None` shares the directory, or reuses the member's earlier worktree.
    pub worktree: Option<WorktreeWish>,
    /// Backend.
    pub backend: Option<BackendRequest>,
    /// Additional environment variables for its shell commands.
    pub env: BTreeMap<String, String>,
    /// Whether to replace a running member with this name.
    pub replace: bool,
    /// Whether to start a new conversation instead of continuing an earlier one.
    pub fresh: bool,
    /// Timeout for the hello.
    pub timeout: Option<Duration>,
    /// Cancels the spawn.
    pub cancel: CancellationToken,
}

/// A requested worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeWish {
    /// Name; `None` uses the member's name.
    pub slug: Option<Slug>,
    /// Handling of uncommitted changes; `None` uses the setting.
    pub uncommitted: Option<Uncommitted>,
}

/// A spawned and committed member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnedMember {
    /// Agent id, `name@team`.
    pub agent_id: AgentId,
    /// Spawn id.
    pub spawn_id: SpawnId,
    /// Color.
    pub color: Option<Color>,
    /// Pane.
    pub pane: PaneId,
    /// Socket of the tmux server with the pane.
    pub socket: Option<PathBuf>,
    /// Backend.
    pub backend: BackendType,
    /// Reason for the choice of the backend.
    pub why: String,
    /// Separate worktree, if any.
    pub worktree: Option<Created>,
    /// Whether it continues an earlier conversation.
    pub continues: bool,
    /// Effective values, as the child reported them.
    pub hello: Hello,
}
