//! What a line of a transcript means to a session.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use swarm_model::{ContentBlock, StopReason, StoredMessage};
use swarm_protocol::{MessageId, Usage};

/// One line, without the envelope around it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// Something the model is told: delivered input, tool results, a note.
    User {
        content: Vec<ContentBlock>,
        /// The messages that this line delivers.
        message_ids: Vec<MessageId>,
        /// Written by the repair of a transcript that a crash had cut.
        repaired: bool,
    },
    /// An answer of the model.
    Assistant {
        content: Vec<ContentBlock>,
        /// The model as the server named it.
        model: String,
        /// Id of the message, where another program wrote one; its usage stands on each line of the message.
        id: Option<String>,
        stop_reason: Option<StopReason>,
        usage: Usage,
    },
    /// A message of the conversation with which a fork began. What it cost stands in the parent's transcript.
    Inherited(Arc<StoredMessage>),
    /// From here on the conversation is a summary of what was said before, and what was kept of it.
    Compacted(Compaction),
    /// Results of earlier calls are gone from the conversation.
    Cleared(Clearing),
    /// A turn ended without an answer.
    TurnEnd {
        how: TurnEnd,
        /// What happened.
        text: String,
        /// What the requests used that got no answer.
        usage: Usage,
    },
}

/// How a turn ended that has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnEnd {
    Interrupted,
    TurnLimit,
    Failed,
}

/// A conversation that goes on from a summary of itself. In the file it is a boundary line and a line for each message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Compaction {
    pub(crate) trigger: CompactTrigger,
    /// Tokens in the window before.
    pub(crate) pre_tokens: u64,
    /// What the requests for the summary used.
    pub(crate) usage: Usage,
    /// Whether the last message waits for an answer.
    pub(crate) open: bool,
    /// The conversation from here on. The first message has the summary.
    pub(crate) messages: Vec<Arc<StoredMessage>>,
}

/// Results that were cleared in one sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clearing {
    /// The calls whose results they were.
    pub(crate) calls: Vec<String>,
    /// Tokens in the window before.
    pub(crate) pre_tokens: u64,
    /// About how many tokens fewer there are now.
    pub(crate) saved: u64,
}

/// What a conversation is compacted for, in the words of Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompactTrigger {
    /// The context window is nearly full.
    Auto,
    /// Somebody asked for it.
    Manual,
}

impl CompactTrigger {
    /// The word in transcripts and hooks.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
        }
    }
}

impl Entry {
    /// A line for the model that delivers no message.
    pub(crate) fn user(content: Vec<ContentBlock>) -> Self {
        Self::User {
            content,
            message_ids: Vec::new(),
            repaired: false,
        }
    }
}
