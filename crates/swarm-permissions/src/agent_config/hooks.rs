//! Hooks of settings and definitions, and their events.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_protocol::named_enum;

use super::hook_matcher::matches;

/// Default timeout of a `prompt` hook in seconds, as in Claude Code.
const PROMPT_TIMEOUT_SECS: u64 = 30;

/// Hooks by event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HookSettings {
    /// The groups of each event, in the order in which their results are merged.
    pub events: BTreeMap<HookEvent, Vec<HookGroup>>,
}

/// Hooks that share a matcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookGroup {
    /// The tools or agent types that it applies to; `None` is all.
    pub matcher: Option<String>,
    /// The hooks.
    pub hooks: Vec<HookCommand>,
    /// The file or definition that contains the group.
    pub origin: String,
}

/// What a hook does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum HookAction {
    /// Runs a command line in the shell.
    Command {
        /// The command line.
        command: String,
    },
    /// Posts the input to a server.
    Http {
        /// URL with the scheme `http` or `https`.
        url: String,
        /// Additional headers. `$NAME` and `${NAME}` in a value expand to a variable of
        /// `allowed_env_vars`.
        headers: BTreeMap<String, String>,
        /// The variables that headers may use.
        allowed_env_vars: Vec<String>,
    },
    /// Asks a model whether a condition is met.
    Prompt {
        /// The condition; `$ARGUMENTS` expands to the input.
        prompt: String,
        /// The model; `None` uses a small one.
        model: Option<String>,
        /// Whether a negative decision after a tool call is passed to the model instead of ending
        /// the turn.
        continue_on_block: bool,
    },
}

impl HookAction {
    /// Returns the identifying text for messages: the command line, the URL or the condition.
    pub fn text(&self) -> &str {
        match self {
            Self::Command { command } => command,
            Self::Http { url, .. } => url,
            Self::Prompt { prompt, .. } => prompt,
        }
    }
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookCommand {
    /// The action.
    #[serde(flatten)]
    pub action: HookAction,
    /// Timeout in seconds; `None` is the default.
    pub timeout: Option<u64>,
    /// Whether a failure of the hook blocks like its refusal. Otherwise a failure has no effect.
    #[serde(default)]
    pub failure_blocks: bool,
    /// Whether a command always runs in the sandbox of the agent's shell commands, because a repository
    /// configures it.
    #[serde(default)]
    pub sandboxed: bool,
    /// Directory of the plugin that contains the hook: `CLAUDE_PLUGIN_ROOT` of its command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PathBuf>,
}

impl HookSettings {
    /// Returns whether there are no hooks.
    pub fn is_empty(&self) -> bool {
        self.events.values().all(Vec::is_empty)
    }

    /// Appends the hooks of another source.
    pub fn extend(&mut self, other: Self) {
        for (event, groups) in other.events {
            self.events.entry(event).or_default().extend(groups);
        }
    }

    /// Returns the hooks for a sub-agent, where `Stop` hooks of the definition become
    /// `SubagentStop` hooks, as in Claude Code.
    #[must_use]
    pub fn for_subagent(mut self) -> Self {
        if let Some(groups) = self.events.remove(&HookEvent::Stop) {
            let end = self.events.entry(HookEvent::SubagentStop).or_default();
            end.splice(0..0, groups);
        }
        self
    }

    /// Returns the hooks as those of the plugin in a directory.
    #[must_use]
    pub fn of_plugin(mut self, directory: &Path) -> Self {
        for group in self.events.values_mut().flatten() {
            for hook in &mut group.hooks {
                hook.plugin = Some(directory.to_owned());
            }
        }
        self
    }

    /// Marks all hooks for the sandbox.
    #[must_use]
    pub fn sandboxed(mut self) -> Self {
        for group in self.events.values_mut().flatten() {
            for hook in &mut group.hooks {
                hook.sandboxed = true;
            }
        }
        self
    }

    /// Sets the timeout, in seconds, of every hook without one. For `prompt` hooks it is at most 30
    /// seconds.
    #[must_use]
    pub fn with_time_limit(mut self, seconds: u64) -> Self {
        for group in self.events.values_mut().flatten() {
            for hook in &mut group.hooks {
                let limit = match hook.action {
                    HookAction::Prompt { .. } => seconds.min(PROMPT_TIMEOUT_SECS),
                    _ => seconds,
                };
                hook.timeout.get_or_insert(limit);
            }
        }
        self
    }

    /// Returns the hooks of an event in order. `subject` is the tool or agent type that matchers
    /// are compared with. Duplicate hooks run once, with the longest timeout of their entries.
    pub fn commands(&self, event: HookEvent, subject: Option<&str>) -> Vec<HookCommand> {
        let mut found: Vec<HookCommand> = Vec::new();
        for group in self.events.get(&event).into_iter().flatten() {
            let applies = match (&group.matcher, subject) {
                (Some(matcher), Some(subject)) => matches(matcher, subject),
                _ => true,
            };
            if !applies {
                continue;
            }
            for hook in &group.hooks {
                let is_same = |known: &&mut HookCommand| {
                    known.action == hook.action && known.plugin == hook.plugin
                };
                match found.iter_mut().find(is_same) {
                    Some(known) => {
                        known.timeout = known.timeout.max(hook.timeout);
                        known.failure_blocks |= hook.failure_blocks;
                    }
                    None => found.push(hook.clone()),
                }
            }
        }
        found
    }
}

named_enum! {
    /// The events at which user hooks run.
    #[derive(PartialOrd, Ord)]
    pub enum HookEvent {
        /// Before a tool call.
        PreToolUse = "PreToolUse",
        /// After a successful tool call.
        PostToolUse = "PostToolUse",
        /// After a failed tool call.
        PostToolUseFailure = "PostToolUseFailure",
        /// After all calls of one response have results.
        PostToolBatch = "PostToolBatch",
        /// The agent received a prompt.
        UserPromptSubmit = "UserPromptSubmit",
        /// A person invoked a skill by name.
        UserPromptExpansion = "UserPromptExpansion",
        /// The agent ended its turn.
        Stop = "Stop",
        /// A turn failed with an error.
        StopFailure = "StopFailure",
        /// A sub-agent starts.
        SubagentStart = "SubagentStart",
        /// A sub-agent finished.
        SubagentStop = "SubagentStop",
        /// A teammate became idle.
        TeammateIdle = "TeammateIdle",
        /// A task was created.
        TaskCreated = "TaskCreated",
        /// A task is about to be completed.
        TaskCompleted = "TaskCompleted",
        /// An isolated directory is required; the hook creates it instead of git.
        WorktreeCreate = "WorktreeCreate",
        /// A directory that such a hook created must be removed.
        WorktreeRemove = "WorktreeRemove",
        /// A call requires approval.
        PermissionRequest = "PermissionRequest",
        /// A call was denied by rules, the mode or an approver.
        PermissionDenied = "PermissionDenied",
        /// A person is needed: a call requires approval, or the agent waits for input.
        Notification = "Notification",
        /// An instruction file was added to the conversation.
        InstructionsLoaded = "InstructionsLoaded",
        /// The working directory of commands changed.
        CwdChanged = "CwdChanged",
        /// A directory was added to the agent's working directories.
        DirectoryAdded = "DirectoryAdded",
        /// A settings file or skill changed on disk.
        ConfigChange = "ConfigChange",
        /// A file named by a matcher changed on disk.
        FileChanged = "FileChanged",
        /// A run initializes or maintains the repository (`--init`, `--maintenance`).
        Setup = "Setup",
        /// The conversation is about to be compacted.
        PreCompact = "PreCompact",
        /// The conversation was compacted.
        PostCompact = "PostCompact",
        /// A session starts.
        SessionStart = "SessionStart",
        /// A session ends.
        SessionEnd = "SessionEnd",
        /// A team was created.
        TeamCreated = "TeamCreated",
        /// A team was deleted.
        TeamDeleted = "TeamDeleted",
        /// A teammate joined.
        TeammateSpawned = "TeammateSpawned",
        /// A teammate exited unexpectedly.
        TeammateDied = "TeammateDied",
    }
}
