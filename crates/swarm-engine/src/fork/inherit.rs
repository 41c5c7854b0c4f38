//! The part of a conversation that all forks of one answer have in common.

use swarm_model::{ContentBlock, Message, Role};

/// The result of every call of the answer, for a fork. Claude Code's.
const PLACEHOLDER: &str = "Fork started — processing in background";

/// A conversation up to its last answer, whole, and one message in which each of the answer's calls has the same
/// result, whatever came of it. What stands behind the answer is left out.
pub(crate) fn inherited(conversation: &[Message]) -> Vec<Message> {
    let answer = conversation
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    let mut messages = conversation[..answer.map_or(0, |at| at + 1)].to_vec();
    let calls = messages.last().map_or(&[][..], |answer| &answer.content);
    let results: Vec<ContentBlock> = calls
        .iter()
        .filter_map(|block| match block {
            ContentBlock::ToolUse { id, .. } => Some(ContentBlock::ToolResult {
                tool_use_id: id.clone(),
                content: PLACEHOLDER.to_owned(),
                is_error: false,
            }),
            _ => None,
        })
        .collect();
    if !results.is_empty() {
        messages.push(Message {
            role: Role::User,
            content: results,
        });
    }
    messages
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> ContentBlock {
        ContentBlock::ToolUse {
            id: id.into(),
            name: "Agent".into(),
            input: json!({"prompt": id}),
        }
    }

    #[test]
    fn every_call_of_the_answer_has_the_same_result() {
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
        let half_done = Message {
            role: Role::User,
            content: vec![ContentBlock::text("mail")],
        };
        let before = [Message::user_text("hi"), Message::assistant(answer)];
        let shared = inherited(&[&before[..], &[half_done]].concat());
        assert_eq!(shared[..2], before, "the answer is whole");
        let results = serde_json::to_value(&shared[2..]).unwrap();
        let result = |id| json!({"type": "tool_result", "tool_use_id": id, "content": PLACEHOLDER});
        assert_eq!(
            results,
            json!([{"role": "user", "content": [result("a"), result("b")]}])
        );
    }

    #[test]
    fn nothing_comes_of_a_conversation_without_an_answer() {
        assert_eq!(inherited(&[Message::user_text("hi")]), []);
    }
}
