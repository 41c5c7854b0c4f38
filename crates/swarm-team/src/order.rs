//! The spawn order: the parameters of a child, in a file of mode 0600 that the child reads and
//! unlinks before hello. It contains provider keys, so it is never passed as an argument or
//! environment variable.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use swarm_os::OsError;
use swarm_permissions::{
    AgentConfig, AgentDefinition, Anchors, ModelSource, Rule, RuleError, RuleSet, SourcedRule,
};
use swarm_protocol::{
    AgentId, AgentProgram, AnswerInPlace, Color, OnLost, PermissionMode, RuleText, SessionId,
    SpawnId, UnixMs, WorktreeReport,
};
use swarm_store::VerifyKey;

/// The order is unusable.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// It is not a regular private file, or cannot be read.
    #[error("spawn order not taken: {0}")]
    File(#[from] OsError),
    /// It does not exist, or cannot be unlinked.
    #[error("spawn order {path}: {source}")]
    Io {
        /// Path of the order.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// It is not a valid order.
    #[error("spawn order {path}: {source}")]
    Json {
        /// Path of the order.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// It contains an invalid permission rule.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

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
    /// Milliseconds after which the lead is told that a peer has not answered; 0 never.
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

impl fmt::Debug for RuntimeOrder {
    /// Omits the environment, so that keys are not logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeOrder")
            .field("program", &self.program)
            .field("argv", &self.argv)
            .finish_non_exhaustive()
    }
}

/// The parameters of a child.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "every combination of settings exists"
)]
pub struct SpawnOrder {
    /// ID of the spawn.
    pub spawn_id: SpawnId,
    /// `name@team`.
    pub agent: AgentId,
    /// Colour of the member.
    pub color: Option<Color>,
    /// Agent type.
    pub agent_type: Option<String>,
    /// The agent definition at the time of the spawn.
    pub definition: Option<AgentDefinition>,
    /// The configuration of its own agents.
    pub agent_config: AgentConfig,
    /// Working directory.
    pub cwd: PathBuf,
    /// The member's worktree, if it has its own.
    #[serde(default)]
    pub worktree: Option<WorktreeReport>,
    /// Whether completing a task merges the member's work.
    #[serde(default)]
    pub merges: bool,
    /// Settings for creating worktrees for its sub-agents, serialized by the worktree crate.
    #[serde(default)]
    pub worktree_settings: Value,
    /// The agent program that responds in its turns; `None` for swarm's own turn loop.
    #[serde(default)]
    pub runtime: Option<RuntimeOrder>,
    /// `provider/model`.
    pub model: String,
    /// Source of the model choice.
    #[serde(default)]
    pub model_source: Option<ModelSource>,
    /// Permission mode, already limited to the parent's ceiling.
    pub mode: PermissionMode,
    /// The most permissive mode that it may have.
    pub ceiling: PermissionMode,
    /// Whether a plan must be approved before it changes anything. Its mode is then `plan`.
    #[serde(default)]
    pub plan_required: bool,
    /// The mode in which it carries out an approved plan.
    pub work_mode: PermissionMode,
    /// Allow rules.
    pub allow: Vec<RuleText>,
    /// Deny rules.
    pub deny: Vec<RuleText>,
    /// Ask rules.
    pub ask: Vec<RuleText>,
    /// Additional base directory of relative rules, which were written for the spawner's directory.
    #[serde(default)]
    pub anchors: Anchors,
    /// The conversation to continue or start.
    pub session_id: SessionId,
    /// Additional text for the system prompt.
    pub instructions: Vec<String>,
    /// Environment of its shell commands.
    pub env: BTreeMap<String, String>,
    /// Provider keys and addresses, for the model client alone.
    pub provider: BTreeMap<String, String>,
    /// Limits.
    pub limits: MemberLimits,
    /// The public key with which the member verifies grants; absent in a team without one.
    #[serde(default)]
    pub verify_key: Option<VerifyKey>,
    /// Whether the pane uses colours.
    pub color_output: bool,
    /// Whether its terminal rings when it needs a person.
    pub bell: bool,
    /// Whether its requests can be answered in its pane; `Never` if no person has started it.
    #[serde(default)]
    pub answer_in_place: AnswerInPlace,
    /// Speed of a scripted model: 1 keeps the scripted waits, 0 skips them.
    pub pace: f64,
    /// Version of the spawning program; a child of another version rejects the order.
    pub version: String,
    /// When the spawner times out.
    pub deadline: UnixMs,
}

impl fmt::Debug for SpawnOrder {
    /// Omits the environment and the keys, so that they are not logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnOrder")
            .field("spawn_id", &self.spawn_id)
            .field("agent", &self.agent)
            .field("model", &self.model)
            .field("mode", &self.mode)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

impl SpawnOrder {
    /// Returns the file name of a spawn's order in the member's directory.
    pub fn file_name(spawn_id: SpawnId) -> String {
        format!("order-{spawn_id}.json")
    }

    /// Reads the order and unlinks it, so that the keys in it exist no longer than needed.
    ///
    /// # Errors
    /// [`OrderError`] naming the file.
    pub fn take(path: &Path) -> Result<Self, OrderError> {
        let io = |source| OrderError::Io {
            path: path.to_owned(),
            source,
        };
        let bytes = swarm_os::read_optional(path)?.ok_or_else(|| io(ErrorKind::NotFound.into()))?;
        std::fs::remove_file(path).map_err(io)?;
        serde_json::from_slice(&bytes).map_err(|source| OrderError::Json {
            path: path.to_owned(),
            source,
        })
    }

    /// Unlinks the order of an abandoned spawn, if its child has not done so.
    ///
    /// # Errors
    /// [`OrderError::Io`]; the keys in it are still there then.
    pub fn discard(member_directory: &Path, spawn_id: SpawnId) -> Result<(), OrderError> {
        let path = member_directory.join(Self::file_name(spawn_id));
        swarm_os::remove_if_present(&path).map_err(|source| OrderError::Io { path, source })
    }

    /// Returns the effective rules.
    ///
    /// # Errors
    /// [`OrderError::Rule`] with the invalid text.
    pub fn rules(&self) -> Result<RuleSet, OrderError> {
        let parse = |texts: &[RuleText]| -> Result<Vec<SourcedRule>, OrderError> {
            texts
                .iter()
                .map(|text| {
                    Ok(SourcedRule {
                        rule: Rule::parse(&text.rule)?,
                        origin: text.origin.clone(),
                    })
                })
                .collect()
        };
        Ok(RuleSet {
            allow: parse(&self.allow)?,
            deny: parse(&self.deny)?,
            ask: parse(&self.ask)?,
            ..RuleSet::default()
        })
    }
}
