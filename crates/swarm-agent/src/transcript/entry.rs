//! The entries of a transcript, as a session uses them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use swarm_model::{ContentBlock, StopReason, StoredMessage};
use swarm_protocol::{MessageId, Usage};

/// One line without its envelope.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// Input for the model: delivered input, tool results, a note.
    User {
        content: Vec<ContentBlock>,
        /// Messages that this line delivers.
        message_ids: Vec<MessageId>,
        /// Written when a transcript was repaired after a crash.
        repaired: bool,
    },
    /// A response of the model.
    Assistant {
        content: Vec<ContentBlock>,
        /// Model name as reported by the server.
        model: String,
        /// Id of the message if another program wrote it. Each line of such a message repeats its
        /// usage.
        id: Option<String>,
        stop_reason: Option<StopReason>,
        usage: Usage,
    },
    /// A message that a fork inherited. Its cost is in the parent's transcript.
    Inherited(Arc<StoredMessage>),
    /// A compaction: the conversation continues from a summary and the retained messages.
    Compacted(Compaction),
    /// Results of earlier calls were cleared.
    Cleared(Clearing),
    /// The conversation returned to the state before an earlier line.
    Rewound(Rewind),
    /// The end of a turn without a response.
    TurnEnd {
        how: TurnEnd,
        text: String,
        /// Usage of the requests without a response.
        usage: Usage,
    },
}

/// How a turn without a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnEnd {
    Interrupted,
    TurnLimit,
    Failed,
}

/// A compaction. In the file it is a boundary line followed by a line for each message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Compaction {
    pub(crate) trigger: CompactTrigger,
    /// Tokens in the window before.
    pub(crate) pre_tokens: u64,
    /// Usage of the requests for the summary.
    pub(crate) usage: Usage,
    /// Whether the last message has no response yet.
    pub(crate) open: bool,
    /// The new conversation. The first message contains the summary.
    pub(crate) messages: Vec<Arc<StoredMessage>>,
}

/// A return to the state before an earlier line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rewind {
    /// Id of the first line that no longer counts.
    pub(crate) to: String,
    /// Id of the line before it. In the file it is the line's `parentUuid`.
    pub(crate) parent: Option<String>,
    /// Messages from other agents in the dropped entries, which stay in the conversation.
    pub(crate) mail: Vec<ContentBlock>,
    /// The entries that no longer count. In the file they are the lines before.
    pub(crate) dropped: Vec<Entry>,
}

/// Results that were cleared in one sweep: Claude Code's metadata of such a line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Clearing {
    pub(crate) trigger: String,
    /// Tokens in the window before.
    pub(crate) pre_tokens: u64,
    /// Approximate number of tokens saved.
    pub(crate) tokens_saved: u64,
    #[serde(rename = "compactedToolIds")]
    pub(crate) calls: Vec<String>,
    #[serde(rename = "clearedAttachmentUUIDs")]
    pub(crate) cleared_attachments: Vec<String>,
}

/// The trigger of a compaction, as Claude Code names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompactTrigger {
    /// The context window is nearly full.
    Auto,
    /// A person requested it.
    Manual,
}

impl CompactTrigger {
    /// Returns the name in transcripts and hooks.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
        }
    }
}

impl Entry {
    /// Creates input that delivers no message.
    pub(crate) fn user(content: Vec<ContentBlock>) -> Self {
        Self::User {
            content,
            message_ids: Vec::new(),
            repaired: false,
        }
    }
}
