//! A member as one value, from the spawn to its agent.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use swarm_permissions::{AgentConfig, AgentDefinition, Anchors, ModelSource, RuleSet};
use swarm_protocol::{
    AgentId, AgentProgram, AnswerInPlace, Color, Member, OnLost, PermissionMode, Reservation,
    SessionId, SpawnId, WorktreeReport, partial_debug,
};
use swarm_store::{NewMember, VerifyKey};

/// A member. A spawner has the same parts without an identity: the values that members inherit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MemberSpec {
    /// Who it is.
    pub identity: MemberIdentity,
    /// What responds in its turns.
    pub runtime: MemberRuntime,
    /// Its role.
    pub definition: MemberDefinition,
    /// What it may do.
    pub permissions: MemberPermissions,
    /// Where it works.
    pub workspace: MemberWorkspace,
    /// Its limits.
    pub limits: MemberLimits,
}

impl MemberSpec {
    /// Returns the member for the roster, without a prompt and a pane. Without a session, it continues
    /// the conversation of a dead member of its name.
    pub fn new_member(&self, session: Option<SessionId>, reservation: Reservation) -> NewMember {
        let (identity, workspace) = (&self.identity, &self.workspace);
        let (name, cwd) = (identity.agent.name.clone(), workspace.cwd.clone());
        let mut new = NewMember::new(name, identity.spawn_id, reservation, cwd);
        if let Some(program) = &self.runtime.program {
            new.runtime = program.program.clone();
        }
        let permissions = &self.permissions;
        new.work_mode = (permissions.plan_required).then_some(permissions.work_mode);
        new.entry = Member {
            agent_type: self.definition.agent_type.clone(),
            model: Some(self.runtime.model.clone()),
            mode: Some(self.permissions.mode.to_string()),
            plan_mode_required: Some(self.permissions.plan_required),
            worktree_path: workspace.worktree.as_ref().map(|of| of.toplevel.clone()),
            session_id: session.map(|session| session.to_string()),
            color: identity.color.map(|color| color.name().to_owned()),
            ..new.entry
        };
        new
    }
}

/// Who a member is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberIdentity {
    /// ID of the spawn.
    pub spawn_id: SpawnId,
    /// `name@team`.
    pub agent: AgentId,
    /// Colour of the member.
    pub color: Option<Color>,
    /// The conversation to continue or start.
    pub session_id: SessionId,
}

/// What responds in a member's turns.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberRuntime {
    /// The agent program that responds; `None` for swarm's own turn loop.
    pub program: Option<RuntimeOrder>,
    /// `provider/model`.
    pub model: String,
    /// Source of the model choice; `None` for a default.
    pub model_source: Option<ModelSource>,
    /// Provider keys and addresses, for the model client alone.
    pub provider: BTreeMap<String, String>,
    /// Speed of a scripted model: 1 keeps the scripted waits, 0 skips them.
    pub pace: f64,
}

impl MemberRuntime {
    /// Creates the turn loop of swarm with a model, without keys.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            program: None,
            model: model.into(),
            model_source: None,
            provider: BTreeMap::new(),
            pace: 1.0,
        }
    }
}

// Omits the keys, so that they are not logged.
partial_debug!(MemberRuntime: program, model);

/// The role of a member.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberDefinition {
    /// Agent type.
    pub agent_type: Option<String>,
    /// The agent definition at the time of the spawn.
    pub own: Option<AgentDefinition>,
    /// The configuration of its own agents.
    pub config: Arc<AgentConfig>,
    /// Additional text for the system prompt.
    pub instructions: Vec<String>,
}

// Omits the configuration, which has the environment of MCP servers.
partial_debug!(MemberDefinition: agent_type);

/// What a member may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberPermissions {
    /// Permission mode, already limited to the parent's ceiling.
    pub mode: PermissionMode,
    /// The most permissive mode that it may have.
    pub ceiling: PermissionMode,
    /// The mode in which it carries out an approved plan.
    pub work_mode: PermissionMode,
    /// Whether a plan must be approved before it changes anything. Its mode is then `plan`.
    pub plan_required: bool,
    /// Permission rules, with the additional working directories.
    pub rules: RuleSet,
    /// Additional base directory of relative rules, which were written for the spawner's directory.
    pub anchors: Anchors,
    /// The public key with which it verifies grants; absent in a team without one.
    pub verify_key: Option<VerifyKey>,
    /// Whether its requests can be answered in its pane; `Never` if no person has started it.
    pub answer_in_place: AnswerInPlace,
}

impl MemberPermissions {
    /// Creates permissions without rules.
    pub fn new(mode: PermissionMode, ceiling: PermissionMode) -> Self {
        Self {
            mode,
            ceiling,
            work_mode: mode,
            plan_required: false,
            rules: RuleSet::default(),
            anchors: Anchors::default(),
            verify_key: None,
            answer_in_place: AnswerInPlace::Never,
        }
    }
}

/// Where a member works.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberWorkspace {
    /// Working directory.
    pub cwd: PathBuf,
    /// Environment of its shell commands.
    pub env: BTreeMap<String, String>,
    /// Its worktree, if it has its own.
    pub worktree: Option<WorktreeReport>,
    /// Whether completing a task merges its work.
    pub merges: bool,
    /// Settings for creating worktrees for its sub-agents, serialized by the worktree crate.
    pub worktree_settings: Value,
}

// Omits the environment, so that keys are not logged.
partial_debug!(MemberWorkspace: cwd, worktree);

/// Limits of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberLimits {
    /// Model requests in one turn.
    pub max_requests: u32,
    /// Maximum unread messages in an inbox to which the member sends.
    pub max_unread: usize,
    /// Maximum bytes of text in a message of the member.
    pub max_message_bytes: usize,
    /// Milliseconds after which an unanswered permission request is denied; 0 waits indefinitely.
    pub permission_timeout_ms: u64,
    /// Milliseconds after which the program approves a shutdown on behalf of a working member.
    pub shutdown_grace_ms: u64,
    /// Milliseconds after which the lead is notified that a peer has not answered; 0 never.
    pub answer_timeout_ms: u64,
    /// Whether it is reminded of tasks that it leaves in progress.
    pub remind: bool,
    /// What the member does when the lead's process dies.
    pub on_lost: OnLost,
}

impl MemberLimits {
    /// Returns the timeout of permission requests; `None` waits indefinitely.
    pub fn permission_timeout(&self) -> Option<Duration> {
        let ms = self.permission_timeout_ms;
        (ms > 0).then(|| Duration::from_millis(ms))
    }

    /// Returns how long a member waits for answers of peers; `None` waits indefinitely.
    pub fn answer_timeout(&self) -> Option<Duration> {
        let ms = self.answer_timeout_ms;
        (ms > 0).then(|| Duration::from_millis(ms))
    }

    /// Returns how long a turn may continue after a shutdown request.
    pub fn shutdown_grace(&self) -> Duration {
        Duration::from_millis(self.shutdown_grace_ms)
    }
}

/// The agent program of a member whose model swarm does not ask itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeOrder {
    /// The program as a person named it.
    pub program: AgentProgram,
    /// Absolute path of the program, then its arguments.
    pub argv: Vec<String>,
    /// Variables for this program alone, such as its keys.
    pub env: BTreeMap<String, String>,
    /// swarm, which offers the team's tools to it.
    pub swarm: PathBuf,
}

// Omits the environment, so that keys are not logged.
partial_debug!(RuntimeOrder: program, argv);
