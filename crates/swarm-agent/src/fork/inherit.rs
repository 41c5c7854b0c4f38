//! The part of a conversation that all forks of one response share.

use std::sync::Arc;

use swarm_model::{ContentBlock, Role, StoredBlock, StoredMessage};

/// The result of every call of the response, in a fork. From Claude Code.
const PLACEHOLDER: &str = "Fork started — processing in background";

/// Returns a conversation up to its last response, and one message that gives each call of that
/// response the same placeholder result. Anything after the response is left out.
pub(crate) fn inherited(conversation: &[Arc<StoredMessage>]) -> Vec<Arc<StoredMessage>> {
    let answer = conversation
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    let mut messages = conversation[..answer.map_or(0, |at| at + 1)].to_vec();
    let calls = messages.last().map_or(&[][..], |answer| &answer.blocks);
    let calls = calls.iter().filter_map(StoredBlock::call_id);
    let results: Vec<StoredBlock> = calls.map(|id| placeholder(id)).collect();
    if !results.is_empty() {
        messages.push(Arc::new(StoredMessage {
            role: Role::User,
            blocks: results,
        }));
    }
    messages
}

fn placeholder(call: &str) -> StoredBlock {
    StoredBlock::from(&ContentBlock::ToolResult {
        tool_use_id: call.to_owned(),
        content: PLACEHOLDER.to_owned(),
        is_error: false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use swarm_model::Message;

    use super::*;

    fn call(id: &str) -> ContentBlock {
        ContentBlock::ToolUse {
            id: id.into(),
            name: "Agent".into(),
            input: json!({"prompt": id}),
        }
    }

    #[test]
    fn every_call_of_the_response_gets_the_placeholder_result() {
        let thinking = ContentBlock::Thinking {
            thinking: "hm".into(),
            signature: "c2ln".into(),
        };
        let answer = vec![
            thinking,
            ContentBlock::text("I fork."),
            call("a"),
            call("b"),
        ];
        let half_done = Message::user(vec![ContentBlock::text("mail")]);
        let stored = |message: Message| Arc::new(StoredMessage::from(message));
        let before = [Message::user_text("hi"), Message::assistant(answer)].map(stored);
        let shared = inherited(&[&before[..], &[stored(half_done)]].concat());
        assert_eq!(shared[..2], before, "the answer is whole");
        let results = serde_json::to_value(&shared[2..]).unwrap();
        let result = |id| json!({"type": "tool_result", "tool_use_id": id, "content": PLACEHOLDER});
        assert_eq!(
            results,
            json!([{"role": "user", "content": [result("a"), result("b")]}])
        );
    }

    #[test]
    fn a_conversation_without_a_response_has_nothing_to_inherit() {
        assert_eq!(inherited(&[Arc::new(Message::user_text("hi").into())]), []);
    }
}
