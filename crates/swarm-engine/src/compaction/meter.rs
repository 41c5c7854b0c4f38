//! How full the context window is.

use swarm_model::{ContentBlock, StoredMessage};

use crate::transcript::Entry;

/// Bytes that are taken for a token where no server has counted.
pub(super) const BYTES_A_TOKEN: u64 = 4;

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

/// Bytes of a message as it is sent.
pub(super) fn size(message: &StoredMessage) -> u64 {
    let blocks = message.blocks.iter();
    blocks.map(|block| block.json().len() as u64).sum()
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
        ContentBlock::Other(value) => value.to_string().len(),
    });
    bytes.sum::<usize>() as u64
}
