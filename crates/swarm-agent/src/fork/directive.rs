//! What a fork is told.

use std::sync::Arc;

use swarm_model::{BlockKind, Role, StoredBlock, StoredMessage};
use swarm_tools::prompt;

/// What begins the text of every fork, by which one is known. Claude Code's.
const OPENING: &str = "<fork-boilerplate>";

/// What stands between the rules and the work. Claude Code's.
const DIRECTIVE: &str = "Your directive: ";

/// The first text of a fork.
pub(crate) fn directive(work: &str) -> String {
    format!(
        "{OPENING}\n{}\n</fork-boilerplate>\n\n{DIRECTIVE}{work}",
        prompt!("fork")
    )
}

/// Whether a conversation is a fork's: the rules stand in it.
pub(crate) fn is_inside(conversation: &[Arc<StoredMessage>]) -> bool {
    let users = conversation
        .iter()
        .filter(|message| message.role == Role::User);
    users.flat_map(|message| &message.blocks).any(opens_fork)
}

/// Whether a block is what a fork was told first.
pub(crate) fn opens_fork(block: &StoredBlock) -> bool {
    // There is nothing in the opening that JSON writes in another way.
    block.kind() == BlockKind::Text && block.json().contains(OPENING)
}

#[cfg(test)]
mod tests {
    use swarm_model::{ContentBlock, Message};

    use super::*;

    #[test]
    fn a_fork_is_known_by_what_it_was_told_and_nobody_else() {
        let told = directive("count the files");
        assert!(told.starts_with("<fork-boilerplate>\n"), "{told}");
        assert!(
            told.ends_with("\n\nYour directive: count the files"),
            "{told}"
        );
        let stored = |message: Message| Arc::new(StoredMessage::from(message));
        let fork = ["hi", &told].map(|text| stored(Message::user_text(text)));
        assert!(is_inside(&fork));
        let quoted = ContentBlock::ToolResult {
            tool_use_id: "a".into(),
            content: told.clone(),
            is_error: false,
        };
        let reader = Message {
            role: Role::User,
            content: vec![quoted],
        };
        let talker = Message::assistant(vec![ContentBlock::text(told)]);
        assert!(
            !is_inside(&[stored(reader), stored(talker)]),
            "results and answers are no directives"
        );
    }
}
