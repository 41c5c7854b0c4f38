//! What happens inside an agent, as it happens: what a pane draws and `--output stream-json` prints.

use serde::{Deserialize, Serialize};

use crate::{ContextUse, MemberState, PermissionMode, SubAgentId, Usage};

/// One line of what a tool call printed or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailLine {
    /// The line's number in its file, where it is part of a difference: the new number, or the old one of a removed line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// What happened to the line, where it is part of a difference and did not stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<LineChange>,
    /// Its text, without a line end. It may hold control characters.
    pub text: String,
}

impl DetailLine {
    /// A line of output.
    pub fn output(text: impl Into<String>) -> Self {
        Self {
            number: None,
            change: None,
            text: text.into(),
        }
    }
}

/// The text of a message that is longer than a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailText {
    /// All of it.
    pub text: String,
    /// The command that shows it, also after it was read.
    pub command: String,
}

/// What happened to a line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineChange {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
}

/// One event of an agent's life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// A turn begins.
    TurnStarted,
    /// The model wrote some text.
    TextDelta {
        /// The piece.
        text: String,
    },
    /// The model thought.
    ThinkingDelta {
        /// The piece.
        text: String,
    },
    /// The text streamed so far in this model call is void; the call is made again.
    TextDiscarded,
    /// A model message is complete.
    MessageDone {
        /// Its whole text.
        text: String,
    },
    /// A tool call begins.
    ToolStarted {
        /// Id of the call.
        id: String,
        /// The tool.
        tool: String,
        /// The call in one line.
        line: String,
    },
    /// A tool call ended.
    ToolFinished {
        /// Id of the call.
        id: String,
        /// The tool.
        tool: String,
        /// Whether it succeeded.
        ok: bool,
        /// The outcome in one line.
        line: String,
        /// What the call printed or changed, line by line.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        detail: Vec<DetailLine>,
    },
    /// A message came in.
    MailIn {
        /// Sender.
        from: String,
        /// Its colour's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        color: Option<String>,
        /// The first words.
        line: String,
        /// The whole text, where it is longer than a line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        more: Option<MailText>,
    },
    /// A message went out.
    MailOut {
        /// Receiver.
        to: String,
        /// The first words.
        line: String,
    },
    /// The model call is made again after a wait.
    Retrying {
        /// Which attempt comes next.
        attempt: u32,
        /// Wait in milliseconds.
        wait_ms: u64,
        /// Why.
        reason: String,
    },
    /// The agent's state changed.
    State {
        /// To what.
        state: MemberState,
        /// Tool, request or reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// The conversation goes on from a summary of itself.
    Compacted {
        /// `auto` or `manual`.
        trigger: String,
        /// Tokens before.
        before: u64,
        /// About how many there are now.
        after: u64,
    },
    /// How full the context window is, after an answer or a compaction. Absent where the model's window is not known.
    Context(ContextUse),
    /// A command in the background has started or ended.
    Commands {
        /// Those that run, each in one line.
        running: Vec<String>,
    },
    /// A turn ended.
    TurnEnded {
        /// Its last text.
        text: String,
        /// Tokens of the turn.
        usage: Usage,
        /// What went wrong, if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A sub-agent begins, or is resumed.
    SubAgentStarted {
        /// Which.
        id: SubAgentId,
        /// The sub-agent that started it; absent where the agent itself did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<SubAgentId>,
        /// Its type.
        agent_type: String,
        /// Its work in a few words.
        description: String,
        /// Whether its parent goes on beside it.
        background: bool,
    },
    /// Something happened inside a sub-agent.
    SubAgentEvent {
        /// Which.
        id: SubAgentId,
        /// What.
        event: Box<AgentEvent>,
    },
    /// A sub-agent ended, for now: a message may resume it.
    SubAgentEnded {
        /// Which.
        id: SubAgentId,
        /// Its type.
        agent_type: String,
        /// `completed`, `failed`, `killed` or `interrupted`.
        outcome: String,
        /// What went wrong, if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The model that it ran on, at its provider.
        model: String,
        /// Tokens that it used since it began or was resumed, without those of its own sub-agents.
        usage: Usage,
        /// Tool calls in that time.
        tool_calls: u64,
        /// Milliseconds of that time.
        duration_ms: u64,
    },
    /// A member of the team asks for permission.
    Asked {
        /// The member.
        from: String,
        /// What it asks for.
        line: String,
        /// The id of the request, in short.
        id: String,
    },
    /// The permission mode in force, at the beginning and when it has changed.
    ModeChanged {
        /// Which.
        mode: PermissionMode,
    },
    /// Another model answers from now on.
    ModelChanged {
        /// Its name.
        model: String,
    },
    /// A person asks to see the last result that was folded in full.
    Expand,
    /// What a command printed that a person typed into the terminal of a lead.
    CommandOutput {
        /// All of it.
        text: String,
    },
    /// A line from the program.
    Notice {
        /// What it says.
        line: String,
    },
}
