//! Context for starting members, and the values they inherit.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use swarm_os::DirectoryWatcher;
use swarm_panes::{BackendRequest, TerminalFacts};
use swarm_permissions::{AgentDefinition, ChosenModel, ModelCandidates, choose_model};
use swarm_protocol::{
    AgentProgram, Clock, LeadProcess, LifeKind, LifeRecord, SandboxKind, SpawnId, partial_debug,
};
use swarm_store::TeamStore;
use swarm_team::{
    MemberDefinition, MemberLimits, MemberPermissions, MemberRuntime, MemberWorkspace,
    PaneSettings, RuntimeOrder,
};
use swarm_worktree::{ProcessMark, Worktrees};

/// The acting process, distinguished from later ones with the same pid by its start time.
#[derive(Debug, Clone)]
pub struct ProcessIdentity {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start: String,
    /// Host name.
    pub host: String,
    /// Host and pid namespace, `host#pid:[inode]`.
    pub pid_space: String,
}

impl ProcessIdentity {
    /// Returns the form used in rosters.
    pub fn lead_process(&self, clock: &dyn Clock) -> LeadProcess {
        LeadProcess {
            pid: self.pid,
            pid_space: self.pid_space.clone(),
            claimed_at: clock.now(),
            proc_start: self.start.clone(),
            rest: serde_json::Map::new(),
        }
    }

    /// Returns the life record of a spawn in this process.
    pub fn life_record(&self, kind: LifeKind, spawn_id: SpawnId) -> LifeRecord {
        LifeRecord {
            host: self.host.clone(),
            pid_space: self.pid_space.clone(),
            ..LifeRecord::new(kind, self.pid, self.start.clone(), spawn_id)
        }
    }

    /// Returns the holder of a lease that is not a member's.
    pub fn holder(&self) -> LifeRecord {
        self.life_record(LifeKind::Process, SpawnId::random())
    }

    /// Returns the form used in the records of worktrees.
    pub fn mark(&self) -> ProcessMark {
        ProcessMark {
            pid: self.pid,
            start: self.start.clone(),
        }
    }
}

/// Resolves the name of a model to `provider/model`, or returns why it is invalid or not allowed. A
/// full name is returned unchanged.
pub type ResolveModel = dyn Fn(&str) -> Result<String, String> + Send + Sync;

/// Finds an agent program on this machine for a member in a directory, or returns why it cannot be
/// started.
pub type ResolveRuntime =
    dyn Fn(&AgentProgram, &Path) -> Result<RuntimeOrder, String> + Send + Sync;

/// Returns how shell commands can be confined on this machine; `None` if they cannot, or need not. The
/// first call may block for some milliseconds.
pub type FindSandbox = dyn Fn() -> Option<SandboxKind> + Send + Sync;

/// Everything that is needed to start and stop members: the services, then the values of a lead
/// itself, which its members inherit.
#[derive(Clone)]
pub struct SpawnContext {
    /// Config directory.
    pub root: PathBuf,
    /// Store of teams.
    pub store: Arc<dyn TeamStore>,
    /// Clock.
    pub clock: Arc<dyn Clock>,
    /// File watcher of this process.
    pub watcher: Arc<DirectoryWatcher>,
    /// Path of the teammate program.
    pub program: PathBuf,
    /// Terminal of this process.
    pub terminal: TerminalFacts,
    /// Backend for members.
    pub backend: BackendRequest,
    /// Resolves model names.
    pub resolve_model: Arc<ResolveModel>,
    /// Finds the agent programs of members.
    pub resolve_runtime: Arc<ResolveRuntime>,
    /// Finds how members' commands are confined.
    pub find_sandbox: Arc<FindSandbox>,
    /// Creates worktrees.
    pub worktrees: Worktrees,
    /// Timeout for a child's hello.
    pub hello_deadline: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub kill_grace: Duration,
    /// Version of the program.
    pub version: String,
    /// The acting process.
    pub process: ProcessIdentity,
    /// Spawn id of the actor.
    pub spawn_id: SpawnId,
    /// The default model.
    pub runtime: MemberRuntime,
    /// Definitions, hooks and MCP servers.
    pub definition: MemberDefinition,
    /// The default mode, the highest mode, and the rules that every member inherits.
    pub permissions: MemberPermissions,
    /// The working directory of the actor, and the environment of shell commands.
    pub workspace: MemberWorkspace,
    /// Limits.
    pub limits: MemberLimits,
    /// Terminals of members.
    pub pane: PaneSettings,
}

/// Additional time to wait for a member after its own deadline: its turn is interrupted at the
/// deadline, and running commands need a moment to stop. The help of `shutdown` names it.
const SHUTDOWN_MARGIN: Duration = Duration::from_secs(3);

impl SpawnContext {
    /// Returns the model of a member or sub-agent as written, and its source.
    pub fn choose_model(
        &self,
        call: Option<&str>,
        definition: Option<&AgentDefinition>,
    ) -> ChosenModel {
        let names = &self.definition.config.models;
        choose_model(&ModelCandidates {
            environment: names.environment.as_deref(),
            call,
            definition: definition.and_then(|definition| definition.model.as_deref()),
            parent: &self.runtime.model,
            small: names.small(&self.runtime.model),
        })
    }

    /// Returns the full name of that model.
    ///
    /// # Errors
    /// Returns why the model is invalid or not allowed.
    pub fn member_model(
        &self,
        call: Option<&str>,
        definition: Option<&AgentDefinition>,
    ) -> Result<ChosenModel, String> {
        let chosen = self.choose_model(call, definition);
        let written = if chosen.written == self.runtime.model {
            chosen.written.clone()
        } else {
            (self.resolve_model)(&chosen.written)
                .map_err(|error| chosen.explain(definition, &error))?
        };
        Ok(ChosenModel {
            written,
            source: chosen.source,
        })
    }

    /// Returns how long to wait for a member to stop by itself: longer than the member's own
    /// deadline, at which it approves the request, so that only an unresponsive member is
    /// terminated.
    pub fn shutdown_patience(&self) -> Duration {
        self.limits.shutdown_grace().saturating_add(SHUTDOWN_MARGIN)
    }
}

partial_debug!(SpawnContext: root, program, backend);
