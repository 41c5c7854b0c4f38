//! The events of hooks.

use serde::{Deserialize, Serialize};

/// The events at which user hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HookEvent {
    /// Before a tool call.
    PreToolUse,
    /// After a successful tool call.
    PostToolUse,
    /// After a failed tool call.
    PostToolUseFailure,
    /// After all calls of one response have results.
    PostToolBatch,
    /// The agent received a prompt.
    UserPromptSubmit,
    /// A person invoked a skill by name.
    UserPromptExpansion,
    /// The agent ended its turn.
    Stop,
    /// A turn failed with an error.
    StopFailure,
    /// A sub-agent starts.
    SubagentStart,
    /// A sub-agent finished.
    SubagentStop,
    /// A teammate became idle.
    TeammateIdle,
    /// A task was created.
    TaskCreated,
    /// A task is about to be completed.
    TaskCompleted,
    /// An isolated directory is required; the hook creates it instead of git.
    WorktreeCreate,
    /// A directory created by such a hook is to be removed.
    WorktreeRemove,
    /// A call requires approval.
    PermissionRequest,
    /// A call was denied by rules, the mode or an approver.
    PermissionDenied,
    /// A person is needed: a call requires approval, or the agent waits for input.
    Notification,
    /// An instruction file was added to the conversation.
    InstructionsLoaded,
    /// The working directory of commands changed.
    CwdChanged,
    /// A directory was added to the agent's working directories.
    DirectoryAdded,
    /// A settings file or skill changed on disk.
    ConfigChange,
    /// A file named by a matcher changed on disk.
    FileChanged,
    /// A run initializes or maintains the repository (`--init`, `--maintenance`).
    Setup,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The conversation was compacted.
    PostCompact,
    /// A session starts.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A team was created.
    TeamCreated,
    /// A team was deleted.
    TeamDeleted,
    /// A teammate joined.
    TeammateSpawned,
    /// A teammate exited unexpectedly.
    TeammateDied,
}

impl HookEvent {
    /// All events.
    pub const ALL: [Self; 32] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PostToolBatch,
        Self::UserPromptSubmit,
        Self::UserPromptExpansion,
        Self::Stop,
        Self::StopFailure,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::TeammateIdle,
        Self::TaskCreated,
        Self::TaskCompleted,
        Self::WorktreeCreate,
        Self::WorktreeRemove,
        Self::PermissionRequest,
        Self::PermissionDenied,
        Self::Notification,
        Self::InstructionsLoaded,
        Self::CwdChanged,
        Self::DirectoryAdded,
        Self::ConfigChange,
        Self::FileChanged,
        Self::Setup,
        Self::PreCompact,
        Self::PostCompact,
        Self::SessionStart,
        Self::SessionEnd,
        Self::TeamCreated,
        Self::TeamDeleted,
        Self::TeammateSpawned,
        Self::TeammateDied,
    ];

    /// Returns the name in settings and in `hook_event_name`.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PostToolBatch => "PostToolBatch",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::UserPromptExpansion => "UserPromptExpansion",
            Self::Stop => "Stop",
            Self::StopFailure => "StopFailure",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::TeammateIdle => "TeammateIdle",
            Self::TaskCreated => "TaskCreated",
            Self::TaskCompleted => "TaskCompleted",
            Self::WorktreeCreate => "WorktreeCreate",
            Self::WorktreeRemove => "WorktreeRemove",
            Self::PermissionRequest => "PermissionRequest",
            Self::PermissionDenied => "PermissionDenied",
            Self::Notification => "Notification",
            Self::InstructionsLoaded => "InstructionsLoaded",
            Self::CwdChanged => "CwdChanged",
            Self::DirectoryAdded => "DirectoryAdded",
            Self::ConfigChange => "ConfigChange",
            Self::FileChanged => "FileChanged",
            Self::Setup => "Setup",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::TeamCreated => "TeamCreated",
            Self::TeamDeleted => "TeamDeleted",
            Self::TeammateSpawned => "TeammateSpawned",
            Self::TeammateDied => "TeammateDied",
        }
    }

    /// Returns the event with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }
}
