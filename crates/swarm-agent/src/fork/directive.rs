//! The first user text of a fork.

use std::sync::Arc;

use swarm_model::{StoredBlock, StoredMessage};
use swarm_tools::prompt;

use crate::history::user_texts;

/// The start of every fork's first text, by which a fork is recognized. From Claude Code.
const OPENING: &str = "<fork-boilerplate>";

/// Separates the rules from the task. From Claude Code.
const DIRECTIVE: &str = "Your directive: ";

/// Returns the first text of a fork: the rules and its task.
pub(crate) fn directive(work: &str) -> String {
    format!(
        "{OPENING}\n{}\n</fork-boilerplate>\n\n{DIRECTIVE}{work}",
        prompt!("fork")
    )
}

/// Returns the first text in the conversation of a fork; `None` in other conversations.
pub(crate) fn fork_opening(conversation: &[Arc<StoredMessage>]) -> Option<&StoredBlock> {
    // JSON does not escape any character of the opening.
    user_texts(conversation).find(|block| block.json().contains(OPENING))
}

#[cfg(test)]
mod tests {
    use swarm_model::{ContentBlock, Message};

    use super::*;

    #[test]
    fn only_a_fork_directive_marks_a_fork() {
        let text = directive("count the files");
        assert!(text.starts_with("<fork-boilerplate>\n"), "{text}");
        assert!(
            text.ends_with("\n\nYour directive: count the files"),
            "{text}"
        );
        let stored = |message: Message| Arc::new(StoredMessage::from(message));
        let fork = ["hi", &text].map(|said| stored(Message::user_text(said)));
        assert!(fork_opening(&fork).is_some());
        let quoted = ContentBlock::ToolResult {
            tool_use_id: "a".into(),
            content: text.clone(),
            is_error: false,
        };
        let reader = Message::user(vec![quoted]);
        let talker = Message::assistant(vec![ContentBlock::text(text)]);
        assert!(
            fork_opening(&[stored(reader), stored(talker)]).is_none(),
            "results and responses are not directives"
        );
    }
}
