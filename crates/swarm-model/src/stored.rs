//! In-memory format of a conversation: each block is stored as the JSON that is sent.
//!
//! The whole conversation is sent with every request. With the JSON stored, building a request only
//! joins bytes, and the JSON is the only copy: clients that need text parse it.
//! [`pack`](crate::pack) puts the JSON of many blocks into one piece of memory.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::message::{ContentBlock, Message, Role};

/// A stored message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredMessage {
    /// Author of the message.
    pub role: Role,
    /// Content blocks in order.
    #[serde(rename = "content")]
    pub blocks: Vec<StoredBlock>,
}

impl StoredMessage {
    /// Parses the blocks and returns the message.
    pub fn message(&self) -> Message {
        Message {
            role: self.role,
            content: self.blocks.iter().map(StoredBlock::block).collect(),
        }
    }
}

impl From<Message> for StoredMessage {
    fn from(message: Message) -> Self {
        Self {
            role: message.role,
            blocks: message.content.iter().map(StoredBlock::from).collect(),
        }
    }
}

/// Kind of a stored block, as far as validation, cache markers and dialects depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Empty text.
    EmptyText,
    /// Text that consists of white space.
    BlankText,
    /// Any other text.
    Text,
    /// Thinking that the server signed or encrypted.
    Thinking,
    /// Thinking without a signature, which is never sent.
    UnsignedThinking,
    /// A tool call.
    ToolUse,
    /// A tool call whose input is not a JSON object.
    BrokenToolUse,
    /// A tool result that is text.
    ToolResult,
    /// Any other block.
    Other,
}

/// A stored block. Clones share the JSON.
#[derive(Clone)]
pub struct StoredBlock {
    kind: BlockKind,
    /// Memory that contains the JSON, and perhaps that of other blocks.
    memory: Arc<Bytes>,
    /// Position of the JSON in `memory`.
    range: Range<usize>,
    /// Id of the tool call, for calls and results.
    id: Option<Arc<str>>,
}

impl StoredBlock {
    /// Returns the kind of the block.
    pub fn kind(&self) -> BlockKind {
        self.kind
    }

    /// Returns the JSON in the format of the Messages API.
    pub fn json(&self) -> &str {
        // serde_json writes valid UTF-8.
        std::str::from_utf8(self.bytes()).unwrap_or_default()
    }

    /// Returns the JSON as bytes, without UTF-8 validation.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[self.range.clone()]
    }

    /// Returns the memory that contains the JSON, and the position of the JSON in it.
    pub(crate) fn place(&self) -> (&Arc<Bytes>, Range<usize>) {
        (&self.memory, self.range.clone())
    }

    /// Replaces the memory by another one that contains the same JSON.
    pub(crate) fn move_to(&mut self, memory: &Arc<Bytes>, range: Range<usize>) {
        self.memory = Arc::clone(memory);
        self.range = range;
    }

    /// Returns the id of the call if the block is a tool call.
    pub fn call_id(&self) -> Option<&Arc<str>> {
        let is_call = matches!(self.kind, BlockKind::ToolUse | BlockKind::BrokenToolUse);
        self.id.as_ref().filter(|_| is_call)
    }

    /// Returns the id of the call if the block is a tool result. A result with more than text has
    /// the kind [`BlockKind::Other`].
    pub fn result_id(&self) -> Option<&Arc<str>> {
        let is_result = matches!(self.kind, BlockKind::ToolResult | BlockKind::Other);
        self.id.as_ref().filter(|_| is_result)
    }

    /// Parses the block.
    pub fn block(&self) -> ContentBlock {
        // The JSON was serialized from a block, so it always parses.
        serde_json::from_str(self.json()).unwrap_or(ContentBlock::Other(Value::Null))
    }
}

impl From<&ContentBlock> for StoredBlock {
    fn from(block: &ContentBlock) -> Self {
        // Serializing strings and JSON values cannot fail.
        let json = serde_json::to_vec(block).unwrap_or_default();
        let (kind, id) = kind_and_id(block);
        Self {
            kind,
            range: 0..json.len(),
            memory: Arc::new(json.into_boxed_slice().into()),
            id: id.map(Arc::from),
        }
    }
}

fn kind_and_id(block: &ContentBlock) -> (BlockKind, Option<&str>) {
    match block {
        ContentBlock::Text { text } if text.is_empty() => (BlockKind::EmptyText, None),
        ContentBlock::Text { text } if text.trim().is_empty() => (BlockKind::BlankText, None),
        ContentBlock::Text { .. } => (BlockKind::Text, None),
        ContentBlock::Thinking { signature, .. } if signature.is_empty() => {
            (BlockKind::UnsignedThinking, None)
        }
        ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. } => {
            (BlockKind::Thinking, None)
        }
        ContentBlock::ToolUse { id, input, .. } if input.is_object() => {
            (BlockKind::ToolUse, Some(id.as_str()))
        }
        ContentBlock::ToolUse { id, .. } => (BlockKind::BrokenToolUse, Some(id.as_str())),
        ContentBlock::ToolResult { tool_use_id, .. } => {
            (BlockKind::ToolResult, Some(tool_use_id.as_str()))
        }
        ContentBlock::Other(value) if value["type"] == "tool_result" => {
            (BlockKind::Other, value["tool_use_id"].as_str())
        }
        ContentBlock::Other(_) => (BlockKind::Other, None),
    }
}

impl PartialEq for StoredBlock {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Serialize for StoredBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json: &RawValue = serde_json::from_str(self.json()).map_err(S::Error::custom)?;
        json.serialize(serializer)
    }
}

impl fmt::Debug for StoredBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.json())
    }
}

/// Converts messages to the form that a request has.
#[cfg(test)]
pub(crate) fn stored(messages: Vec<Message>) -> Arc<[Arc<StoredMessage>]> {
    let messages = messages.into_iter().map(StoredMessage::from);
    messages.map(Arc::new).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_block_round_trips() {
        let blocks = [
            ContentBlock::text("a \"b\"\n\u{1}ü"),
            ContentBlock::text(""),
            ContentBlock::Thinking {
                thinking: "hm".into(),
                signature: String::new(),
            },
            ContentBlock::RedactedThinking { data: "x".into() },
            ContentBlock::ToolUse {
                id: "t1".into(),
                name: "Read".into(),
                input: json!({"z": 1.5, "a": [null, {"b": "c"}]}),
            },
            ContentBlock::ToolUse {
                id: "t2".into(),
                name: "Read".into(),
                input: json!("{\"broken"),
            },
            ContentBlock::ToolResult {
                tool_use_id: "t1".into(),
                content: "out".into(),
                is_error: true,
            },
            ContentBlock::Other(
                json!({"type": "tool_result", "tool_use_id": "t3", "content": [{"type": "image"}]}),
            ),
        ];
        let message = Message::user(blocks.to_vec());
        let stored = StoredMessage::from(message.clone());
        assert_eq!(stored.message(), message);
        assert_eq!(
            serde_json::to_string(&stored).unwrap(),
            serde_json::to_string(&message).unwrap()
        );
        let ids = |of: fn(&StoredBlock) -> Option<&Arc<str>>| -> Vec<String> {
            stored
                .blocks
                .iter()
                .filter_map(of)
                .map(ToString::to_string)
                .collect()
        };
        assert_eq!(ids(StoredBlock::call_id), ["t1", "t2"]);
        assert_eq!(ids(StoredBlock::result_id), ["t1", "t3"]);
    }
}
