//! What is asked of a spawn and what came of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use swarm_panes::BackendRequest;
use swarm_protocol::{
    AgentId, BackendType, Color, Effort, Hello, MemberName, PaneId, PermissionMode, SpawnId,
};
use swarm_store::Draft;
use swarm_worktree::{Created, Slug, Uncommitted};
use tokio_util::sync::CancellationToken;

/// A member to be spawned. What is `None` is inherited.
#[derive(Debug, Clone)]
pub struct SpawnOptions {
    /// Its name.
    pub name: MemberName,
    /// Type of its definition.
    pub agent_type: Option<String>,
    /// Its first message.
    pub prompt: Option<Draft>,
    /// Its model.
    pub model: Option<String>,
    /// Its effort, above what its definition says.
    pub effort: Option<Effort>,
    /// Its permission mode. `plan` is the same as [`Self::plan`] without a mode.
    pub mode: Option<PermissionMode>,
    /// Whether it has to have a plan approved before it changes anything; it goes on in its mode then.
    pub plan: bool,
    /// Its working directory.
    pub cwd: PathBuf,
    /// A worktree of its own; `None` shares the directory, or carries on in the one that it had.
    pub worktree: Option<WorktreeWish>,
    /// Where it runs.
    pub backend: Option<BackendRequest>,
    /// Further variables for its shell commands.
    pub env: BTreeMap<String, String>,
    /// Ends a live member of the same name first.
    pub replace: bool,
    /// Begins a new conversation instead of carrying on an earlier one of the name.
    pub fresh: bool,
    /// How long it may take to say hello.
    pub timeout: Option<Duration>,
    /// Gives up when cancelled.
    pub cancel: CancellationToken,
}

/// A worktree as it was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeWish {
    /// The name it shall go by; `None` is the member's.
    pub slug: Option<Slug>,
    /// What becomes of uncommitted changes; `None` is what the settings say.
    pub uncommitted: Option<Uncommitted>,
}

/// A member that was spawned and committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnedMember {
    /// `name@team`.
    pub agent_id: AgentId,
    /// Which spawn.
    pub spawn_id: SpawnId,
    /// Its colour.
    pub color: Option<Color>,
    /// Its pane.
    pub pane: PaneId,
    /// Socket of the tmux server that holds the pane.
    pub socket: Option<PathBuf>,
    /// What holds it.
    pub backend: BackendType,
    /// Why it runs there.
    pub why: String,
    /// Its worktree, if it has one of its own.
    pub worktree: Option<Created>,
    /// Whether it carries on an earlier conversation of its name.
    pub continues: bool,
    /// The values in force, as the child reported them.
    pub hello: Hello,
}
