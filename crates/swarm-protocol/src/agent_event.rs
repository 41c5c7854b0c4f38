//! What happens inside an agent, as it happens: what a pane draws and `--output stream-json` prints.

use serde::{Deserialize, Serialize};

use crate::{MemberState, Usage};

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
    /// A line from the program.
    Notice {
        /// What it says.
        line: String,
    },
}
