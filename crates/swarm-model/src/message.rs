//! Messages and their content blocks, in the JSON of the Messages API.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

/// Who said a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person or program in front of the model; tool results count as theirs.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What was said, in order.
    pub content: Vec<ContentBlock>,
}

impl Message {
    /// A user message of one text block.
    pub fn user_text(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            content: vec![ContentBlock::text(text)],
        }
    }

    /// An assistant message with the content of a response.
    pub fn assistant(content: Vec<ContentBlock>) -> Self {
        Self {
            role: Role::Assistant,
            content,
        }
    }
}

/// One block of a message, in the shape of the Messages API.
///
/// A block whose type or shape is not one of these is kept whole as [`ContentBlock::Other`] and goes back
/// to the server as it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Prose.
    Text {
        /// The prose.
        text: String,
    },
    /// The model's thinking. The Messages API checks the signature, so both fields go back unchanged.
    Thinking {
        /// The thinking in clear text.
        thinking: String,
        /// The server's signature over it. Empty for thinking of servers that sign nothing; such thinking is for people
        /// only and goes to no server.
        signature: String,
    },
    /// Thinking that the server encrypted; goes back unchanged.
    RedactedThinking {
        /// Opaque to everybody but the server.
        data: String,
    },
    /// A call of a tool.
    ToolUse {
        /// Id that the result refers to.
        id: String,
        /// Name of the tool.
        name: String,
        /// A JSON object; or, when the model wrote something else or broken JSON, a `Value::String` with
        /// exactly what it wrote. Such a call is answered with an error result (see
        /// [`ContentBlock::broken_input`]).
        input: Value,
    },
    /// What a tool call gave.
    ToolResult {
        /// Id of the call.
        tool_use_id: String,
        /// The result as text.
        #[serde(default, deserialize_with = "result_text")]
        content: String,
        /// Whether the call failed.
        #[serde(default, skip_serializing_if = "is_false")]
        is_error: bool,
    },
    /// Any other block, as it came.
    #[serde(untagged)]
    Other(Value),
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// What the model wrote as input of this tool call, if it was not a JSON object.
    pub fn broken_input(&self) -> Option<&str> {
        match self {
            Self::ToolUse {
                input: Value::String(raw),
                ..
            } => Some(raw),
            _ => None,
        }
    }
}

/// The input of a call from the text that a model wrote. Nothing stands for no input. Anything but an object becomes a
/// `Value::String` of the text, for the engine to answer with an error result.
pub(crate) fn call_input(text: String) -> Value {
    if text.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str(&text) {
        Ok(Value::Object(fields)) => Value::Object(fields),
        _ => Value::String(text),
    }
}

/// The input of a call as servers take it back: objects only. The model gets to see what it wrote.
pub(crate) fn sendable_input(input: &Value) -> Cow<'_, Value> {
    match input {
        Value::Object(_) => Cow::Borrowed(input),
        other => Cow::Owned(json!({ "not_a_json_object": other })),
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Accepts the two shapes of a result: a string, or a list of text blocks (joined by line breaks). A list
/// with anything else is refused here and thereby kept whole as [`ContentBlock::Other`].
fn result_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Shape {
        Text(String),
        Blocks(Vec<ContentBlock>),
    }
    match Shape::deserialize(deserializer)? {
        Shape::Text(text) => Ok(text),
        Shape::Blocks(blocks) => {
            let texts: Option<Vec<String>> = blocks
                .into_iter()
                .map(|block| match block {
                    ContentBlock::Text { text } => Some(text),
                    _ => None,
                })
                .collect();
            texts
                .map(|texts| texts.join("\n"))
                .ok_or_else(|| D::Error::custom("a tool result with blocks other than text"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(value: &Value) -> ContentBlock {
        let block: ContentBlock = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(&serde_json::to_value(&block).unwrap(), value);
        block
    }

    #[test]
    fn known_blocks_round_trip_in_the_api_shape() {
        let call = round_trip(
            &json!({"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"/a"}}),
        );
        assert!(matches!(call, ContentBlock::ToolUse { .. }));
        assert_eq!(call.broken_input(), None);
        round_trip(&json!({"type":"text","text":"hi"}));
        round_trip(&json!({"type":"thinking","thinking":"hm","signature":"c2ln"}));
        round_trip(&json!({"type":"redacted_thinking","data":"xyz"}));
        round_trip(&json!({"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}));
        round_trip(
            &json!({"type":"tool_result","tool_use_id":"toolu_1","content":"no","is_error":true}),
        );
    }

    #[test]
    fn an_unknown_block_is_kept_whole() {
        let value = json!({"type":"image","source":{"type":"base64","data":"AA=="}});
        assert_eq!(round_trip(&value), ContentBlock::Other(value));
    }

    #[test]
    fn a_result_in_text_blocks_becomes_text_and_one_with_an_image_is_kept() {
        let texts = json!({"type":"tool_result","tool_use_id":"t","content":[
            {"type":"text","text":"a"},{"type":"text","text":"b"}]});
        let block: ContentBlock = serde_json::from_value(texts).unwrap();
        assert_eq!(
            block,
            ContentBlock::ToolResult {
                tool_use_id: "t".into(),
                content: "a\nb".into(),
                is_error: false
            }
        );
        let image = json!({"type":"tool_result","tool_use_id":"t","content":[{"type":"image"}]});
        assert_eq!(round_trip(&image), ContentBlock::Other(image));
    }
}
