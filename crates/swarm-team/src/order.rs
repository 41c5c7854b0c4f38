//! The spawn order: everything a child is told, in a file of mode 0600 that it reads and unlinks
//! before hello. It carries the provider keys, so it never becomes an argument or a variable that
//! others can read.

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
    AgentId, Color, OnLost, PermissionMode, RuleText, SessionId, SpawnId, UnixMs, WorktreeReport,
};

/// An order cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// It is no file of ours, or cannot be read.
    #[error("spawn order not taken: {0}")]
    File(#[from] OsError),
    /// It is not there, or cannot be unlinked.
    #[error("spawn order {path}: {source}")]
    Io {
        /// Where it was looked for.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not an order.
    #[error("spawn order {path}: {source}")]
    Json {
        /// Where it is.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A rule in it is not a rule.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

/// Bounds of one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberLimits {
    /// Model requests in one turn.
    pub max_requests: u32,
    /// Unread messages in one inbox beyond which the member cannot send another.
    pub max_unread: usize,
    /// Bytes of text in one message of the member.
    pub max_message_bytes: usize,
    /// Milliseconds after which an unanswered permission request means no; 0 waits for ever.
    pub permission_timeout_ms: u64,
    /// Milliseconds a member in a turn may take before the program approves a shutdown for it.
    pub shutdown_grace_ms: u64,
    /// Whether it is reminded of tasks that it leaves in progress.
    pub remind: bool,
    /// What becomes of the member when the lead's process dies.
    pub on_lost: OnLost,
}

impl MemberLimits {
    /// How long an answer to a permission request is waited for; `None` is for ever.
    pub fn permission_timeout(&self) -> Option<Duration> {
        let ms = self.permission_timeout_ms;
        (ms > 0).then(|| Duration::from_millis(ms))
    }

    /// How long a turn may go on after a shutdown request.
    pub fn shutdown_grace(&self) -> Duration {
        Duration::from_millis(self.shutdown_grace_ms)
    }
}

/// What a child is told.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpawnOrder {
    /// Which spawn.
    pub spawn_id: SpawnId,
    /// `name@team`.
    pub agent: AgentId,
    /// Its colour.
    pub color: Option<Color>,
    /// Type of its definition.
    pub agent_type: Option<String>,
    /// Its definition, as it was when it was spawned.
    pub definition: Option<AgentDefinition>,
    /// The configuration of its own agents.
    pub agent_config: AgentConfig,
    /// Working directory.
    pub cwd: PathBuf,
    /// The worktree that the directory is in, where it is to have one of its own.
    #[serde(default)]
    pub worktree: Option<WorktreeReport>,
    /// Whether its work is merged when it completes a task.
    #[serde(default)]
    pub merges: bool,
    /// How worktrees for its sub-agents are made, as the crate that makes them writes it.
    #[serde(default)]
    pub worktree_settings: Value,
    /// `provider/model`.
    pub model: String,
    /// Who chose the model.
    #[serde(default)]
    pub model_source: Option<ModelSource>,
    /// Permission mode, already below the parent's ceiling.
    pub mode: PermissionMode,
    /// The mode that it never rises above.
    pub ceiling: PermissionMode,
    /// Whether it has to have a plan approved before it changes anything. Its mode is `plan` then.
    #[serde(default)]
    pub plan_required: bool,
    /// The mode in which it carries out an approved plan.
    pub work_mode: PermissionMode,
    /// Rules in force: calls that run.
    pub allow: Vec<RuleText>,
    /// Rules in force: calls that are refused.
    pub deny: Vec<RuleText>,
    /// Rules in force: calls that are asked about.
    pub ask: Vec<RuleText>,
    /// Where relative rules start besides the working directory: they were written for its
    /// spawner's.
    #[serde(default)]
    pub anchors: Anchors,
    /// The conversation to continue or begin.
    pub session_id: SessionId,
    /// Further text for the system prompt.
    pub instructions: Vec<String>,
    /// Environment of its shell commands.
    pub env: BTreeMap<String, String>,
    /// Provider keys and addresses, for the model client alone.
    pub provider: BTreeMap<String, String>,
    /// Bounds.
    pub limits: MemberLimits,
    /// Draw with colours.
    pub color_output: bool,
    /// Pace of a scripted model: 1 plays waits as written, 0 leaves them out.
    pub pace: f64,
    /// Version of the program that orders; another version refuses.
    pub version: String,
    /// When the spawner gives up.
    pub deadline: UnixMs,
}

impl fmt::Debug for SpawnOrder {
    /// Without the environment and the keys, so that no log holds them.
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
    /// File name of the order of one spawn, inside the member's directory.
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

    /// Unlinks the order of a spawn that came to nothing, if its child has not done so.
    ///
    /// # Errors
    /// [`OrderError::Io`]; the keys in it are still there then.
    pub fn discard(member_directory: &Path, spawn_id: SpawnId) -> Result<(), OrderError> {
        let path = member_directory.join(Self::file_name(spawn_id));
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(OrderError::Io { path, source })
            }
            _ => Ok(()),
        }
    }

    /// The rules in force.
    ///
    /// # Errors
    /// [`OrderError::Rule`] naming the text that is no rule.
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
