//! Measures how full the context window is.

use serde_json::Value;
use swarm_model::{BlockKind, ContentBlock, StoredBlock, StoredMessage};

use crate::transcript::Entry;

/// Bytes per token, for text that no server has counted.
pub(super) const BYTES_A_TOKEN: u64 = 4;

/// Weight of an image in bytes of text: the Messages API counts at most about 1600 tokens.
const PICTURE: usize = 6_400;

/// Base64 bytes of a document that weigh as much as one byte of text.
const DOCUMENT: usize = 10;

/// Counts the tokens of a conversation: the server's count for the last response plus an estimate
/// of what follows it.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Tokens of the last request and its response, counted by the server.
    counted: u64,
    /// Bytes added after that response.
    added: u64,
    /// The server's next count includes failed attempts, so it is not used.
    pub(crate) next_is_inflated: bool,
}

impl Meter {
    pub(crate) fn tokens(&self) -> u64 {
        self.counted + self.added / BYTES_A_TOKEN
    }

    pub(crate) fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::User { content, .. } => self.added += content_size(content),
            Entry::Assistant { content, usage, .. } => {
                let is_inflated = std::mem::take(&mut self.next_is_inflated);
                if usage.total() > 0 && !is_inflated {
                    (self.counted, self.added) = (usage.total(), 0);
                } else {
                    self.added += content_size(content);
                }
            }
            Entry::Inherited(message) => self.added += size(message),
            Entry::Compacted(compaction) => {
                self.counted = 0;
                self.added = compaction
                    .messages
                    .iter()
                    .map(|message| size(message))
                    .sum();
            }
            Entry::Cleared(cleared) => {
                let left = self.tokens().saturating_sub(cleared.tokens_saved);
                (self.counted, self.added) = (left, 0);
            }
            Entry::Rewound(rewind) => self.added += content_size(&rewind.mail),
            Entry::TurnEnd { .. } => {}
        }
    }
}

/// Returns the bytes of a message as it is sent. Images and documents count as the text that costs
/// as many tokens.
pub(super) fn size(message: &StoredMessage) -> u64 {
    message.blocks.iter().map(block_size).sum()
}

/// Returns the bytes of one block, counted as in [`size`].
pub(super) fn block_size(block: &StoredBlock) -> u64 {
    let bytes = match block.kind() {
        BlockKind::Other => match block.block() {
            ContentBlock::Other(value) => weight(&value),
            _ => block.json().len(),
        },
        _ => block.json().len(),
    };
    bytes as u64
}

fn content_size(content: &[ContentBlock]) -> u64 {
    let bytes = content.iter().map(|block| match block {
        ContentBlock::Text { text } => text.len(),
        ContentBlock::ToolResult { content, .. } => content.len(),
        ContentBlock::Thinking {
            thinking,
            signature,
        } => thinking.len() + signature.len(),
        ContentBlock::RedactedThinking { data } => data.len(),
        ContentBlock::ToolUse { input, .. } => input.to_string().len(),
        ContentBlock::Other(value) => weight(value),
    });
    bytes.sum::<usize>() as u64
}

/// Returns the bytes of text that cost as many tokens as a value.
fn weight(value: &Value) -> usize {
    let source = &value["source"];
    match (value["type"].as_str(), source["data"].as_str()) {
        (Some("image"), _) => PICTURE,
        (Some("document"), Some(data)) => data.len() / DOCUMENT,
        _ => match value {
            Value::Array(items) => items.iter().map(weight).sum(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| name.len() + weight(value))
                .sum(),
            Value::String(text) => text.len(),
            other => other.to_string().len(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_image_counts_by_its_token_cost_and_not_by_its_file_size() {
        let data = "A".repeat(1_000_000);
        let picture = json!({"type": "image", "source": {"type": "base64", "data": data}});
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": [picture]});
        let block = ContentBlock::Other(result);
        let mut meter = Meter::default();
        meter.take(&Entry::user(vec![block.clone()]));
        assert!(
            (1_500..1_700).contains(&meter.tokens()),
            "{}",
            meter.tokens()
        );
        let stored = block_size(&StoredBlock::from(&block));
        assert_eq!(stored / BYTES_A_TOKEN, meter.tokens());
    }
}
