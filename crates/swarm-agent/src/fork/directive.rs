//! The first user text of a fork.

use std::sync::Arc;

use swarm_model::{BlockKind, Role, StoredBlock, StoredMessage};
use swarm_tools::prompt;

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

/// Returns whether a conversation is a fork's, which means that it contains the rules.
pub(crate) fn is_inside(conversation: &[Arc<StoredMessage>]) -> bool {
    let users = conversation
        .iter()
        .filter(|message| message.role == Role::User);
    users.flat_map(|message| &message.blocks).any(opens_fork)
}

/// Returns whether a block is the first text of a fork.
pub(crate) fn opens_fork(block: &StoredBlock) -> bool {
    // JSON does not escape any character of the opening.
    block.kind() == BlockKind::Text && block.json().contains(OPENING)
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
        assert!(is_inside(&fork));
        let quoted = ContentBlock::ToolResult {
            tool_use_id: "a".into(),
            content: text.clone(),
            is_error: false,
        };
        let reader = Message {
            role: Role::User,
            content: vec![quoted],
        };
        let talker = Message::assistant(vec![ContentBlock::text(text)]);
        assert!(
            !is_inside(&[stored(reader), stored(talker)]),
            "results and responses are not directives"
        );
    }
}
