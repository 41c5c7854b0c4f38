//! How full the context window is.

use serde_json::Value;
use swarm_model::{BlockKind, ContentBlock, StoredBlock, StoredMessage};

use crate::transcript::Entry;

/// Bytes that are taken for a token where no server has counted.
pub(super) const BYTES_A_TOKEN: u64 = 4;

/// Bytes of text that take as much room as a picture: the Messages API counts at most about 1600 tokens for one.
const PICTURE: usize = 6_400;

/// Bytes of a document in base64 for a byte of text that takes as much room.
const DOCUMENT: usize = 10;

/// Counts the tokens of a conversation: what the server counted for the last answer, and an estimate of what was said since.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Tokens of the last request and its answer, as the server counted them.
    counted: u64,
    /// Bytes said since.
    since: u64,
    /// The numbers of the next answer contain those of attempts that failed.
    pub(crate) next_is_inflated: bool,
}

impl Meter {
    /// Tokens of the conversation.
    pub(crate) fn tokens(&self) -> u64 {
        self.counted + self.since / BYTES_A_TOKEN
    }

    pub(crate) fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::User { content, .. } => self.since += said(content),
            Entry::Assistant { content, usage, .. } => {
                let is_inflated = std::mem::take(&mut self.next_is_inflated);
                if usage.total() > 0 && !is_inflated {
                    (self.counted, self.since) = (usage.total(), 0);
                } else {
                    self.since += said(content);
                }
            }
            Entry::Inherited(message) => self.since += size(message),
            Entry::Compacted(compaction) => {
                self.counted = 0;
                self.since = compaction
                    .messages
                    .iter()
                    .map(|message| size(message))
                    .sum();
            }
            Entry::Cleared(cleared) => {
                let left = self.tokens().saturating_sub(cleared.saved);
                (self.counted, self.since) = (left, 0);
            }
            Entry::TurnEnd { .. } => {}
        }
    }
}

/// Bytes of a message as it is sent, pictures and documents counted as the text that takes as much room.
pub(super) fn size(message: &StoredMessage) -> u64 {
    message.blocks.iter().map(block_size).sum()
}

/// The same of one block.
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

fn said(content: &[ContentBlock]) -> u64 {
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

/// Bytes of a text that takes as much room as a value.
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
    fn a_picture_weighs_what_it_costs_and_not_what_its_file_has() {
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
