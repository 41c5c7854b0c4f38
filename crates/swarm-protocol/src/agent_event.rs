//! Events of an agent's session, as drawn in its pane and printed by `--output stream-json`.

use serde::{Deserialize, Serialize};

use crate::{ContextUse, MemberState, PermissionMode, SubAgentId, Usage};

/// One line of a tool call's output or of the difference it applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailLine {
    /// Line number in the file for a line of a difference: the new number, or the old one for a
    /// removed line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Change of the line for an added or removed line of a difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<LineChange>,
    /// Text without a line terminator. It may contain control characters.
    pub text: String,
}

impl DetailLine {
    /// Creates a line of output.
    pub fn output(text: impl Into<String>) -> Self {
        Self {
            number: None,
            change: None,
            text: text.into(),
        }
    }
}

/// Full text of a message that is longer than a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailText {
    /// Full text.
    pub text: String,
    /// Command that shows the message, including after it was read.
    pub command: String,
}

/// Change of a line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineChange {
    /// The line was added.
    Added,
    /// The line was removed.
    Removed,
}

/// One event of an agent's session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// A turn begins.
    TurnStarted,
    /// The model wrote some text.
    TextDelta {
        /// Next part of the text.
        text: String,
    },
    /// The model produced thinking text.
    ThinkingDelta {
        /// Next part of the text.
        text: String,
    },
    /// The text streamed so far in this model call is discarded; the call is retried. Not sent if
    /// the turn ends within the text.
    TextDiscarded,
    /// A model message is complete.
    MessageDone {
        /// Full text of the message.
        text: String,
    },
    /// A tool call started.
    ToolStarted {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        tool: String,
        /// One-line description of the call.
        line: String,
    },
    /// A tool call finished.
    ToolFinished {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        tool: String,
        /// Whether it succeeded.
        ok: bool,
        /// One-line summary of the result.
        line: String,
        /// Output or difference, line by line.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        detail: Vec<DetailLine>,
    },
    /// A message arrived.
    MailIn {
        /// Name of the sender.
        from: String,
        /// Colour name of the sender.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        color: Option<String>,
        /// Start of the text.
        line: String,
        /// Full text if it is longer than a line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        more: Option<MailText>,
    },
    /// A message was sent.
    MailOut {
        /// Name of the recipient.
        to: String,
        /// Start of the text.
        line: String,
    },
    /// The model call is retried after a delay.
    Retrying {
        /// Number of the next attempt.
        attempt: u32,
        /// Delay in milliseconds.
        wait_ms: u64,
        /// Reason for the retry.
        reason: String,
    },
    /// The agent's state changed.
    State {
        /// New state.
        state: MemberState,
        /// Tool, request or reason that belongs to the state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// The conversation was replaced with a summary.
    Compacted {
        /// `auto` or `manual`.
        trigger: String,
        /// Context size in tokens before the compaction.
        before: u64,
        /// Estimated context size in tokens after the compaction.
        after: u64,
    },
    /// Context window usage, sent after an answer or a compaction. Not sent if the size of the
    /// model's window is unknown.
    Context(ContextUse),
    /// A background command started or finished.
    Commands {
        /// The running commands, one line each.
        running: Vec<String>,
    },
    /// A turn ended.
    TurnEnded {
        /// Final text of the turn.
        text: String,
        /// Token usage of the turn.
        usage: Usage,
        /// `finished`, `turn_limit`, `interrupted`, `stopped_by_hook`, `suspended` or `failed`.
        outcome: String,
        /// Error message if the turn failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A sub-agent started or was resumed.
    SubAgentStarted {
        /// Id of the sub-agent.
        id: SubAgentId,
        /// Id of the parent sub-agent; absent if the agent itself is the parent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<SubAgentId>,
        /// Agent type.
        agent_type: String,
        /// Short description of its work.
        description: String,
        /// Whether the parent continues while the sub-agent runs.
        background: bool,
    },
    /// An event of a sub-agent.
    SubAgentEvent {
        /// Id of the sub-agent.
        id: SubAgentId,
        /// The event.
        event: Box<AgentEvent>,
    },
    /// A run of a sub-agent ended; a message may resume it.
    SubAgentEnded {
        /// Id of the sub-agent.
        id: SubAgentId,
        /// Agent type.
        agent_type: String,
        /// `completed`, `failed`, `killed` or `interrupted`.
        outcome: String,
        /// Error message if the run failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Model id at the provider.
        model: String,
        /// Tokens used in this run, excluding those of its own sub-agents.
        usage: Usage,
        /// Number of tool calls in this run.
        tool_calls: u64,
        /// Duration of this run in milliseconds.
        duration_ms: u64,
    },
    /// A team member requests permission.
    Asked {
        /// Name of the member.
        from: String,
        /// One-line description of the call.
        line: String,
        /// Short id of the request.
        id: String,
        /// Name of the team, which a command in another terminal must name.
        team: String,
    },
    /// The permission mode, sent at the start and on every change.
    ModeChanged {
        /// Mode in force.
        mode: PermissionMode,
    },
    /// The session switched to another model.
    ModelChanged {
        /// Name of the new model.
        model: String,
    },
    /// Another model answers until the end of the turn, because the agent's own is overloaded.
    FallbackUsed {
        /// Full name of the model.
        model: String,
    },
    /// A person asked to expand the last folded result.
    Expand,
    /// The agent made the same call several times in a row.
    CallRepeated {
        /// Name of the tool.
        tool: String,
        /// Input of the call as JSON, truncated.
        input: String,
        /// Number of times.
        times: u32,
    },
    /// Output of a command that a person typed into the lead's terminal.
    CommandOutput {
        /// Full output.
        text: String,
    },
    /// Text of the notice.
    Notice {
        /// Text of the notice.
        line: String,
    },
}
