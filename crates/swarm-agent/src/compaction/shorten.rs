//! A conversation with less in it, for a request that would not fit otherwise.

use std::sync::Arc;

use swarm_model::{BlockKind, ContentBlock, Message, Role, StoredBlock, StoredMessage};

use super::meter::size;
use super::pictures::{has_pictures, without_pictures};
use crate::limits::cut;

/// Stands where the beginning of a conversation is left out.
const LEFT_OUT: &str =
    "[The beginning of this conversation is left out here: it is too long for one request.]";

/// The same messages with at most `chars` characters of each result, and without pictures and documents: servers limit the
/// bytes of a request, and the model has read them before.
pub(super) fn with_short_results(
    messages: &[Arc<StoredMessage>],
    chars: usize,
) -> Vec<Arc<StoredMessage>> {
    let messages = messages.iter();
    messages
        .map(|message| {
            if message.blocks.iter().any(|block| is_long(block, chars)) {
                let blocks = message.blocks.iter();
                let blocks = blocks.map(|block| short(block, chars)).collect();
                let role = message.role;
                Arc::new(StoredMessage { role, blocks })
            } else {
                Arc::clone(message)
            }
        })
        .collect()
}

fn is_long(block: &StoredBlock, chars: usize) -> bool {
    has_pictures(block) || (block.kind() == BlockKind::ToolResult && block.json().len() > chars)
}

fn short(block: &StoredBlock, chars: usize) -> StoredBlock {
    let block = if has_pictures(block) {
        without_pictures(block)
    } else {
        block.clone()
    };
    match block.block() {
        ContentBlock::ToolResult {
            tool_use_id,
            content,
            is_error,
        } if block.json().len() > chars => StoredBlock::from(&ContentBlock::ToolResult {
            tool_use_id,
            content: cut(content, chars),
            is_error,
        }),
        _ => block,
    }
}

/// The last messages that have room in `bytes`, behind a word about what is left out. No call is parted from its result.
pub(super) fn last_of(messages: Vec<Arc<StoredMessage>>, bytes: u64) -> Vec<Arc<StoredMessage>> {
    let mut left: u64 = messages.iter().map(|message| size(message)).sum();
    if left <= bytes {
        return messages;
    }
    let mut beginning = 0;
    for (at, message) in messages.iter().enumerate() {
        if is_beginning(message) {
            beginning = at;
            if left <= bytes {
                break;
            }
        }
        left -= size(message);
    }
    let note = Arc::new(StoredMessage::from(Message::user_text(LEFT_OUT)));
    let rest = messages.into_iter().skip(beginning);
    std::iter::once(note).chain(rest).collect()
}

/// Where a conversation may begin so that every call in it has its result, and every result its call.
pub(super) fn is_beginning(message: &StoredMessage) -> bool {
    let mut blocks = message.blocks.iter();
    message.role == Role::Assistant || !blocks.any(|block| block.result_id().is_some())
}
