//! Options and result of a spawn.

use std::path::PathBuf;
use std::time::Duration;

use swarm_agent::MemberRequest;
use swarm_panes::BackendRequest;
use swarm_protocol::{AgentId, BackendType, Color, Hello, MemberName, PaneId, SpawnId};
use swarm_store::Draft;
use swarm_worktree::{Created, Slug, Uncommitted};
use tokio_util::sync::CancellationToken;

/// A member to spawn.
#[derive(Debug, Clone)]
pub struct SpawnOptions {
    /// Name.
    pub name: MemberName,
    /// What was asked for.
    pub member: MemberRequest,
    /// Initial prompt.
    pub prompt: Option<Draft>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Separate worktree; `None` shares the directory, or reuses the member's earlier worktree.
    pub worktree: Option<WorktreeWish>,
    /// Backend; `None` inherits it.
    pub backend: Option<BackendRequest>,
    /// Whether to replace a running member with this name.
    pub replace: bool,
    /// Whether to start a new conversation instead of continuing an earlier one.
    pub fresh: bool,
    /// Timeout for the hello.
    pub timeout: Option<Duration>,
    /// Cancels the spawn.
    pub cancel: CancellationToken,
}

impl SpawnOptions {
    /// Creates options with defaults for the optional values.
    pub fn new(name: MemberName, member: MemberRequest, cwd: PathBuf) -> Self {
        Self {
            name,
            member,
            prompt: None,
            cwd,
            worktree: None,
            backend: None,
            replace: false,
            fresh: false,
            timeout: None,
            cancel: CancellationToken::new(),
        }
    }
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
    /// Machine of an earlier conversation, which is not continued here.
    pub conversation_left_on: Option<String>,
    /// Effective values, as the child reported them.
    pub hello: Hello,
}
