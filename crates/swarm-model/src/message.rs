//! Messages and their content blocks, in the JSON of the Messages API.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user or the program that calls the model; tool results have this role too.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Author of the message.
    pub role: Role,
    /// Content blocks in order.
    pub content: Vec<ContentBlock>,
}

impl Message {
    /// Creates a user message.
    pub fn user(content: Vec<ContentBlock>) -> Self {
        Self {
            role: Role::User,
            content,
        }
    }

    /// Creates a user message with one text block.
    pub fn user_text(text: impl Into<String>) -> Self {
        Self::user(vec![ContentBlock::text(text)])
    }

    /// Creates an assistant message with the content of a response.
    pub fn assistant(content: Vec<ContentBlock>) -> Self {
        Self {
            role: Role::Assistant,
            content,
        }
    }
}

/// One block of a message, in the format of the Messages API.
///
/// A block of another type or shape is kept as [`ContentBlock::Other`] and sent back to the server
/// unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// The model's thinking. The Messages API checks the signature, so both fields are sent back
    /// unchanged.
    Thinking {
        /// The thinking in clear text.
        thinking: String,
        /// The server's signature. Empty for servers that do not sign; such thinking is only
        /// displayed and never sent.
        signature: String,
    },
    /// Thinking that the server encrypted; sent back unchanged.
    RedactedThinking {
        /// Opaque data that only the server can read.
        data: String,
    },
    /// A tool call.
    ToolUse {
        /// Id that the result refers to.
        id: String,
        /// Name of the tool.
        name: String,
        /// A JSON object. If the model wrote something else or invalid JSON, a `Value::String` with
        /// exactly that text; such a call is answered with an error result (see
        /// [`ContentBlock::broken_input`]).
        input: Value,
    },
    /// The result of a tool call.
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
    /// Any other block, unchanged.
    #[serde(untagged)]
    Other(Value),
}

impl ContentBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }

    /// Returns the model's input of this tool call if it is not a JSON object.
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

/// Parses the input that a model wrote. Empty text means an empty input. Anything but an object
/// becomes a `Value::String`, which the engine answers with an error result.
pub(crate) fn call_input(text: String) -> Value {
    if text.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str(&text) {
        Ok(Value::Object(fields)) => Value::Object(fields),
        _ => Value::String(text),
    }
}

/// Returns the input in a form that servers accept, which is objects only; other input is wrapped
/// in an object.
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

/// Accepts both shapes of a result: a string, or a list of text blocks (joined by line breaks). A
/// list with other blocks is an error here, so that the block is kept as [`ContentBlock::Other`].
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
            let texts: Option<Vec<&str>> = blocks.iter().map(ContentBlock::as_text).collect();
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
    fn text_blocks_of_a_result_are_joined_and_a_result_with_an_image_is_kept_whole() {
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
