//! Shortens a conversation for a request that would not fit otherwise.

use std::sync::Arc;

use swarm_model::{BlockKind, ContentBlock, Message, Role, StoredBlock, StoredMessage};

use super::meter::size;
use super::pictures::{has_images, without_images};
use crate::limits::cut;

const OMITTED: &str =
    "[The beginning of this conversation is omitted here because it is too long for one request.]";

/// Returns the messages with at most `chars` characters per result and without images and
/// documents: servers limit the bytes of a request, and the model has seen them before.
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
    has_images(block) || (block.kind() == BlockKind::ToolResult && block.json().len() > chars)
}

fn short(block: &StoredBlock, chars: usize) -> StoredBlock {
    let block = if has_images(block) {
        without_images(block)
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

/// Returns the last messages that fit into `bytes`, preceded by a note about the omission. Calls
/// are not separated from their results.
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
    let note = Arc::new(StoredMessage::from(Message::user_text(OMITTED)));
    let rest = messages.into_iter().skip(beginning);
    std::iter::once(note).chain(rest).collect()
}

/// Returns whether a conversation can begin with this message so that every call has its result and
/// every result its call.
pub(super) fn is_beginning(message: &StoredMessage) -> bool {
    let mut blocks = message.blocks.iter();
    message.role == Role::Assistant || !blocks.any(|block| block.result_id().is_some())
}
