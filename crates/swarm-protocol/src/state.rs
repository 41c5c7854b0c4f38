//! What a member reports about itself: hello at startup, its life record, its current state, and
//! its permissions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    ContextUse, PaneId, PermissionMode, SessionId, SpawnId, TaskId, UnixMs, Usage, named_enum,
};

/// State of a worktree: the requested one and the one that the member finds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeReport {
    /// Top-level directory, with symbolic links resolved.
    pub toplevel: PathBuf,
    /// Checked-out branch; `None` if HEAD is detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Checked-out commit.
    pub head: String,
}

/// `members/<name>/hello.json`: the settings in force in the member, which the spawner compares
/// with its request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// Spawn of the member.
    pub spawn_id: SpawnId,
    /// Process id of the member.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub proc_start: String,
    /// Pane in which it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<PaneId>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Isolated worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeReport>,
    /// Model as `provider/model`.
    pub model: String,
    /// Permission mode.
    pub mode: PermissionMode,
    /// Tools offered to the model.
    pub tools: Vec<String>,
    /// Session of the member.
    pub session_id: SessionId,
    /// Version of the program.
    pub version: String,
    /// Settings from its definition; absent without a definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<DefinitionReport>,
}

/// Settings from a definition that are in force in a member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DefinitionReport {
    /// Type of the definition.
    pub agent_type: String,
    /// Source of the model: environment, call, definition or parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_source: Option<String>,
    /// Maximum number of model requests in one turn.
    pub max_turns: u32,
    /// Reasoning effort of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<crate::Effort>,
    /// Skills whose text is loaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Memory directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<PathBuf>,
    /// Whether a text precedes its first prompt.
    pub initial_prompt: bool,
}

/// What holds a life lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LifeKind {
    /// A separate process.
    Process,
    /// A task inside another member's process.
    Task,
}

/// Content of `members/<name>/life`, the file whose lock shows that a member is running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LifeRecord {
    /// Process or task.
    pub kind: LifeKind,
    /// Process id of the holder.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub proc_start: String,
    /// Spawn of the member; a lead has one too.
    pub spawn_id: SpawnId,
    /// Host name.
    pub host: String,
    /// Host and PID namespace in which the pid is valid, as in `leadProcess`; empty in files of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pid_space: String,
    /// Whether its shell commands can reach neither a terminal nor a Unix socket, as
    /// [`ShellGuards::cut_terminals`](crate::ShellGuards::cut_terminals) says.
    #[serde(default)]
    pub confined: bool,
    /// Whether its shell commands cannot connect to servers of this machine, as
    /// [`ShellGuards::cut_loopback`](crate::ShellGuards::cut_loopback) says.
    #[serde(default)]
    pub off_loopback: bool,
}

impl LifeRecord {
    /// Returns the record of a holder, without its host and with shell commands that reach
    /// everything.
    pub fn new(kind: LifeKind, pid: u32, proc_start: impl Into<String>, spawn_id: SpawnId) -> Self {
        Self {
            kind,
            pid,
            proc_start: proc_start.into(),
            spawn_id,
            host: String::new(),
            pid_space: String::new(),
            confined: false,
            off_loopback: false,
        }
    }
}

named_enum! {
    /// State of a member, as shown to people and scripts.
    pub enum MemberState {
        /// Spawned but not committed.
        Starting = "starting",
        /// A turn is running.
        Working = "working",
        /// A call waits for permission.
        WaitingPermission = "waiting-permission",
        /// A plan waits for approval.
        WaitingPlan = "waiting-plan",
        /// The turn is over; a background job is running.
        Background = "background",
        /// The turn is over and reported.
        Idle = "idle",
        /// The turn is over but not reported.
        IdleUnreported = "idle-unreported",
        /// Rate-limited by the provider.
        Throttled = "throttled",
        /// A budget is used up: no request is sent until it is raised.
        OverBudget = "over-budget",
        /// The conversation fills the context window and could not be compacted.
        Exhausted = "exhausted",
        /// The last turn failed; the next message starts another one.
        Failed = "failed",
        /// Paused between turns by a person.
        Paused = "paused",
        /// The lead is gone; no turns start.
        Parked = "parked",
        /// The member agreed to stop.
        Stopping = "stopping",
        /// Stopped gracefully.
        Stopped = "stopped",
        /// Exited unexpectedly.
        Dead = "dead",
        /// A member of another program: its state is unknown.
        Foreign = "foreign",
    }
}

impl MemberState {
    /// Returns whether a person or the lead must answer before the member continues.
    pub fn needs_answer(self) -> bool {
        matches!(self, Self::WaitingPermission | Self::WaitingPlan)
    }

    /// Returns whether no turn is running and the next message starts one.
    pub fn waits_for_mail(self) -> bool {
        matches!(
            self,
            Self::Idle | Self::IdleUnreported | Self::Exhausted | Self::Failed
        )
    }
}

/// `members/<name>/state.json`. Only the member writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateReport {
    /// Spawn of the member.
    pub spawn_id: SpawnId,
    /// Current state.
    pub state: MemberState,
    /// Time of the last state change.
    pub since: UnixMs,
    /// Tool, request or reason that belongs to the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Task in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Number of model turns so far.
    #[serde(default)]
    pub turns: u64,
    /// Number of steps so far (model events and tool results); it stops increasing if the member
    /// hangs.
    #[serde(default)]
    pub progress: u64,
    /// Token usage so far.
    #[serde(default)]
    pub usage: Usage,
    /// Context window usage, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextUse>,
    /// Background commands, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Full name of the model that answers until the end of the turn, if the member's own is
    /// overloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

impl StateReport {
    /// Returns the report of a spawn that has done nothing yet.
    pub fn new(spawn_id: SpawnId, state: MemberState, since: UnixMs) -> Self {
        Self {
            spawn_id,
            state,
            since,
            detail: None,
            task: None,
            turns: 0,
            progress: 0,
            usage: Usage::default(),
            context: None,
            commands: Vec::new(),
            fallback: None,
        }
    }
}

/// `members/<name>/paused`: exists while a person keeps this spawn paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseMark {
    /// Paused spawn; later spawns of the same name are not paused.
    pub spawn_id: SpawnId,
    /// Who paused it.
    pub by: String,
    /// Time of the pause.
    pub at: UnixMs,
    /// Reason for the pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

named_enum! {
    /// What a member does when the process that leads its team dies.
    #[derive(Default)]
    pub enum OnLost {
        /// Starts no turn until the team has a lead again.
        #[default]
        Park = "park",
        /// Stops gracefully.
        Stop = "stop",
        /// Continues, as in a team that a person drives by hand.
        Continue = "continue",
    }
}

/// A permission rule and its source, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleText {
    /// The rule, such as `Bash(git log:*)`.
    pub rule: String,
    /// A settings file, or `session` for a rule that a person granted with `--always`.
    pub origin: String,
}

/// `members/<name>/rights.json`: the rules in force in a member. Only the member writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RightsReport {
    /// Spawn of the member.
    pub spawn_id: SpawnId,
    /// Mode in force.
    pub mode: PermissionMode,
    /// Highest mode that it may have.
    pub ceiling: PermissionMode,
    /// Deny rules.
    pub deny: Vec<RuleText>,
    /// Rules for calls that always require approval.
    pub ask: Vec<RuleText>,
    /// Allow rules.
    pub allow: Vec<RuleText>,
    /// Additional working directories.
    #[serde(default)]
    pub directories: Vec<PathBuf>,
}
