//! Hooks as settings and definitions list them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The moments at which a user's programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HookEvent {
    /// Before a tool call.
    PreToolUse,
    /// After a tool call.
    PostToolUse,
    /// A prompt reached the agent.
    UserPromptSubmit,
    /// The agent ended its turn.
    Stop,
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
    /// A work tree is to be made.
    WorktreeCreate,
    /// A work tree is to be removed.
    WorktreeRemove,
    /// A call waits for an answer.
    PermissionRequest,
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

/// Hooks by event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HookSettings {
    /// The groups of each event, in the order in which they run.
    pub events: BTreeMap<HookEvent, Vec<HookGroup>>,
}

/// Hooks that share a matcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookGroup {
    /// Which tools or agent types it speaks of; `None` is all.
    pub matcher: Option<String>,
    /// What runs.
    pub hooks: Vec<HookCommand>,
    /// The file or definition it stands in.
    pub origin: String,
}

/// A command that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookCommand {
    /// The command line for the shell.
    pub command: String,
    /// Seconds that it may take; `None` is the default.
    pub timeout: Option<u64>,
}
