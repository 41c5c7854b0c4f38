//! The events of hooks.

use swarm_protocol::named_enum;

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
        /// A directory created by such a hook is to be removed.
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
