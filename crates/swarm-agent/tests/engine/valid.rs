//! Validation of conversations as the Messages API does it.

use swarm_model::{ContentBlock, Message, Role};

/// Returns the results in a message in order; for a result with images only the id.
pub(crate) fn results(message: &Message) -> Vec<(&str, &str, bool)> {
    message
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::ToolResult {
                tool_use_id,
                content,
                is_error,
            } => Some((tool_use_id.as_str(), content.as_str(), *is_error)),
            // A result with images.
            ContentBlock::Other(value) => Some((value["tool_use_id"].as_str()?, "", false)),
            _ => None,
        })
        .collect()
}

/// Returns the texts in a message in order.
pub(crate) fn texts(message: &Message) -> Vec<&str> {
    message
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

fn calls(message: &Message) -> Vec<&str> {
    message
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::ToolUse { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect()
}

/// Asserts that the server would accept these messages.
#[track_caller]
pub(crate) fn assert_valid(messages: &[Message]) {
    assert_eq!(messages.first().map(|first| first.role), Some(Role::User));
    assert_eq!(messages.last().map(|last| last.role), Some(Role::User));
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        assert!(!message.content.is_empty(), "message {index} is empty");
        for text in texts(message) {
            assert!(!text.trim().is_empty(), "message {index} has an empty text");
        }
        let answered: Vec<&str> = results(message)
            .into_iter()
            .map(|result| result.0)
            .collect();
        assert_eq!(answered, open, "results of message {index}");
        let first: Vec<_> = message.content.iter().take(open.len()).collect();
        assert!(
            first.iter().all(|block| matches!(
                block,
                ContentBlock::ToolResult { .. } | ContentBlock::Other(_)
            )),
            "results come first in message {index}"
        );
        if message.role == Role::Assistant {
            assert_eq!(messages[index + 1].role, Role::User, "roles alternate");
            assert!(
                !matches!(message.content.last(), Some(ContentBlock::Thinking { .. })),
                "message {index} ends in thinking"
            );
        }
        open = calls(message);
    }
}

/// Asserts that roles alternate strictly.
#[track_caller]
pub(crate) fn assert_alternating(messages: &[Message]) {
    for pair in messages.windows(2) {
        assert_ne!(pair[0].role, pair[1].role);
    }
}
