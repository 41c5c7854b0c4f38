//! Context of a request, derived from its messages.

use crate::message::{ContentBlock, Message, Role};

/// Context of a request.
///
/// The *prompt* is the last sequence of user messages without tool results, which started the
/// current turn. Text next to tool results arrived between calls and does not start a turn.
#[derive(Debug)]
pub(super) struct Situation<'a> {
    pub(super) prompt: String,
    /// Number of prompts, including this one.
    pub(super) nth: usize,
    /// Messages after the prompt.
    pub(super) after: &'a [Message],
    /// All user texts in order, including those between tool calls.
    pub(super) seen: Vec<&'a str>,
    /// Number of the model's messages in the whole conversation.
    pub(super) answers: usize,
}

impl<'a> Situation<'a> {
    /// Reads a conversation. Returns `None` if it has no prompt.
    pub(super) fn read(messages: &'a [Message]) -> Option<Self> {
        let mut nth = 0;
        let mut prompt = Vec::new();
        let mut after = 0;
        for (index, message) in messages.iter().enumerate() {
            if !is_prompt(message) {
                continue;
            }
            // Consecutive messages are one prompt: two messages, or a turn that did not start
            // because of a crash.
            if nth == 0 || after != index {
                nth += 1;
                prompt.clear();
            }
            prompt.extend(texts(message));
            after = index + 1;
        }
        if nth == 0 {
            return None;
        }
        let users = messages.iter().filter(|m| m.role == Role::User);
        let answers = messages.iter().filter(|m| m.role == Role::Assistant);
        Some(Self {
            prompt: prompt.join("\n"),
            nth,
            after: &messages[after..],
            seen: users.flat_map(texts).collect(),
            answers: answers.count(),
        })
    }
}

/// Whether a message starts a turn.
fn is_prompt(message: &Message) -> bool {
    message.role == Role::User
        && texts(message).next().is_some()
        && results(message).next().is_none()
}

pub(super) fn texts(message: &Message) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(ContentBlock::as_text)
}

/// Returns the tool results of a message as text.
pub(super) fn results(message: &Message) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(|block| match block {
        ContentBlock::ToolResult { content, .. } => Some(content.as_str()),
        ContentBlock::Other(value) if value["type"] == "tool_result" => Some(""),
        _ => None,
    })
}

/// Returns the first characters of a text, for error messages.
pub(super) fn beginning(text: &str) -> String {
    const LENGTH: usize = 120;
    text.chars().take(LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: &str) -> ContentBlock {
        ContentBlock::ToolResult {
            tool_use_id: "t".into(),
            content: text.into(),
            is_error: false,
        }
    }

    fn user(content: Vec<ContentBlock>) -> Message {
        Message::user(content)
    }

    fn answer() -> Message {
        Message::assistant(vec![ContentBlock::text("said by the model")])
    }

    #[test]
    fn text_next_to_tool_results_does_not_start_a_turn() {
        let messages = [
            Message::user_text("first"),
            answer(),
            Message::user_text("second"),
            answer(),
            user(vec![result("r"), ContentBlock::text("urgent")]),
        ];
        let situation = Situation::read(&messages).unwrap();
        assert_eq!((situation.prompt.as_str(), situation.nth), ("second", 2));
        assert_eq!(situation.after.len(), 2);
        assert_eq!(situation.seen, ["first", "second", "urgent"]);
        assert_eq!(situation.answers, 2);
    }

    #[test]
    fn consecutive_user_messages_are_one_prompt() {
        let messages = [
            Message::user_text("a"),
            answer(),
            user(vec![result("r")]),
            Message::user_text("b"),
            Message::user_text("c"),
        ];
        let situation = Situation::read(&messages).unwrap();
        assert_eq!((situation.prompt.as_str(), situation.nth), ("b\nc", 2));
        assert!(situation.after.is_empty());
    }

    #[test]
    fn a_conversation_without_a_prompt_has_no_situation() {
        assert!(Situation::read(&[]).is_none());
        assert!(Situation::read(&[user(vec![result("r")])]).is_none());
    }
}
