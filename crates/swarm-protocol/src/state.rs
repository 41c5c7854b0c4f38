//! What a member says of itself: hello at the start, its life record, and what it is doing.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{ContextUse, PaneId, PermissionMode, SessionId, SpawnId, TaskId, UnixMs, Usage};

/// Where a checkout stands: what was ordered of a member's worktree, and what the member finds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeReport {
    /// Its uppermost directory, without symbolic links.
    pub toplevel: PathBuf,
    /// The branch that is checked out; none where HEAD is detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub head: String,
}

/// `members/<name>/hello.json`: the values in force in the child, which the spawner compares with its request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// Which spawn.
    pub spawn_id: SpawnId,
    /// The child's pid.
    pub pid: u32,
    /// Its start time in clock ticks since boot.
    pub proc_start: String,
    /// The pane it finds itself in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<PaneId>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its isolated worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeReport>,
    /// Its model, as `provider/model`.
    pub model: String,
    /// Its permission mode.
    pub mode: PermissionMode,
    /// The tools it offers its model.
    pub tools: Vec<String>,
    /// Its conversation.
    pub session_id: SessionId,
    /// Version of the program.
    pub version: String,
    /// What of its definition is in force; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<DefinitionReport>,
}

/// What of a definition is in force in a child.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DefinitionReport {
    /// The type.
    pub agent_type: String,
    /// Who chose the model: environment, call, definition or parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_source: Option<String>,
    /// Model requests in one turn.
    pub max_turns: u32,
    /// How hard the model thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<crate::Effort>,
    /// Skills whose text it has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Where it keeps what it learns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<PathBuf>,
    /// Whether a text stands before its first prompt.
    pub initial_prompt: bool,
}

/// What kind of thing holds a life lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LifeKind {
    /// A process of its own.
    Process,
    /// A task inside another member's process.
    Task,
}

/// Content of `members/<name>/life`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LifeRecord {
    /// Process or task.
    pub kind: LifeKind,
    /// The holder's pid.
    pub pid: u32,
    /// Its start time in clock ticks since boot.
    pub proc_start: String,
    /// Which spawn; a lead has one too.
    pub spawn_id: SpawnId,
    /// Name of the machine.
    pub host: String,
    /// Host and pid namespace within which the pid has its meaning, as in `leadProcess`; empty in files of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pid_space: String,
}

/// What a member is doing, as shown to people and scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberState {
    /// Spawned, not committed.
    Starting,
    /// In a turn.
    Working,
    /// Its call waits for an answer.
    WaitingPermission,
    /// Its plan waits for approval.
    WaitingPlan,
    /// Its turn is over, a background job runs.
    Background,
    /// Its turn is over and reported.
    Idle,
    /// Its turn is over without a report.
    IdleUnreported,
    /// The provider slows it down.
    Throttled,
    /// Its conversation fills the context window and could not be compacted.
    Exhausted,
    /// Its last turn failed; it continues with its next message.
    Failed,
    /// Stopped between turns by a person.
    Paused,
    /// Its lead is gone; it takes no turn.
    Parked,
    /// It has agreed to stop.
    Stopping,
    /// It ended in order.
    Stopped,
    /// It ended otherwise.
    Dead,
    /// A member of another program: its life is not known.
    Foreign,
}

impl MemberState {
    /// Whether no turn is under way and the next message starts one.
    pub fn waits_for_mail(self) -> bool {
        matches!(
            self,
            Self::Idle | Self::IdleUnreported | Self::Exhausted | Self::Failed
        )
    }

    /// The word that is shown.
    pub fn name(self) -> &'static str {
        match self {
            MemberState::Starting => "starting",
            MemberState::Working => "working",
            MemberState::WaitingPermission => "waiting-permission",
            MemberState::WaitingPlan => "waiting-plan",
            MemberState::Background => "background",
            MemberState::Idle => "idle",
            MemberState::IdleUnreported => "idle-unreported",
            MemberState::Throttled => "throttled",
            MemberState::Exhausted => "exhausted",
            MemberState::Failed => "failed",
            MemberState::Paused => "paused",
            MemberState::Parked => "parked",
            MemberState::Stopping => "stopping",
            MemberState::Stopped => "stopped",
            MemberState::Dead => "dead",
            MemberState::Foreign => "foreign",
        }
    }
}

/// `members/<name>/state.json`, written by the member alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateReport {
    /// Which spawn reports.
    pub spawn_id: SpawnId,
    /// What it is doing.
    pub state: MemberState,
    /// Since when.
    pub since: UnixMs,
    /// Tool, request or reason that belongs to the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The task it has in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Model turns taken so far.
    #[serde(default)]
    pub turns: u64,
    /// Steps made so far (model events and tool results): a worker that hangs stops counting.
    #[serde(default)]
    pub progress: u64,
    /// Tokens used so far.
    #[serde(default)]
    pub usage: Usage,
    /// How full its context window is, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextUse>,
    /// The commands that it runs in the background, each in one line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// `members/<name>/paused`: there for as long as a person wants this spawn to take no turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseMark {
    /// Which spawn is meant; a later one of the name is not paused.
    pub spawn_id: SpawnId,
    /// Who wants it.
    pub by: String,
    /// Since when.
    pub at: UnixMs,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a member does when the process that leads its team has died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnLost {
    /// It takes no turn until somebody leads the team again.
    #[default]
    Park,
    /// It ends in order.
    Stop,
    /// It goes on as in a team that a person drives by hand.
    Continue,
}

impl OnLost {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Park, Self::Stop, Self::Continue];

    /// The word of settings and orders.
    pub fn name(self) -> &'static str {
        match self {
            Self::Park => "park",
            Self::Stop => "stop",
            Self::Continue => "continue",
        }
    }
}
