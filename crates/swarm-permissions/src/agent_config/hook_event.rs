//! The moments at which hooks run.

use serde::{Deserialize, Serialize};

/// The moments at which a user's programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HookEvent {
    /// Before a tool call.
    PreToolUse,
    /// After a tool call that succeeded.
    PostToolUse,
    /// After a tool call that failed.
    PostToolUseFailure,
    /// All calls of one answer have their results.
    PostToolBatch,
    /// A prompt reached the agent.
    UserPromptSubmit,
    /// A person starts a skill by its name.
    UserPromptExpansion,
    /// The agent ended its turn.
    Stop,
    /// A turn ended by an error.
    StopFailure,
    /// A sub-agent begins.
    SubagentStart,
    /// A sub-agent ended.
    SubagentStop,
    /// A teammate has nothing to do.
    TeammateIdle,
    /// A task was made.
    TaskCreated,
    /// A task is to be completed.
    TaskCompleted,
    /// A directory for isolated work is wanted: the hook makes it, and not git.
    WorktreeCreate,
    /// A directory that such a hook has made is to go.
    WorktreeRemove,
    /// A call waits for an answer.
    PermissionRequest,
    /// A call was denied by rules, the mode or whoever was asked.
    PermissionDenied,
    /// A person is wanted: a call waits for an answer, or the agent for input.
    Notification,
    /// An instruction file became part of the conversation.
    InstructionsLoaded,
    /// Commands start in another directory.
    CwdChanged,
    /// A directory was added to those in which the agent works.
    DirectoryAdded,
    /// A settings file or a skill has changed on disk.
    ConfigChange,
    /// A file that a matcher names has changed on disk.
    FileChanged,
    /// A run prepares the repository (`--init`, `--maintenance`).
    Setup,
    /// The conversation is to be compacted.
    PreCompact,
    /// The conversation was compacted.
    PostCompact,
    /// A session begins.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A team was made.
    TeamCreated,
    /// A team was deleted.
    TeamDeleted,
    /// A teammate joined.
    TeammateSpawned,
    /// A teammate died.
    TeammateDied,
}

impl HookEvent {
    /// All of them.
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

    /// The name in settings and in `hook_event_name`.
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

    /// The event of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }
}
