//! Builds the request body deterministically, so that the server's prefix cache hits.
//!
//! The system prompt is a single message at the start. Each tool call is answered by a separate
//! message directly after the calls, before any other message; the API has no error flag there, so
//! the text carries it. Consecutive messages with the same role are joined, because the chat
//! templates of some models refuse them. Thinking is not sent: most servers have no field for it
//! and some refuse it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::capabilities::{ServerCapabilities, TokenLimit};
use super::deferred::{offered, referred, shown};
use super::images::{Images, Text, UserContent, append, inside, is_empty, joined, quoted, written};
use crate::error::ModelError;
use crate::message::{ContentBlock, Role, sendable_input};
use crate::remote::Body;
use crate::request::{InputSchema, ModelRequest, ToolSpec};
use crate::stored::{BlockKind, StoredBlock, StoredMessage};

/// Prefix of the result of a failed call.
const ERROR: &str = "Error: ";

/// Serializes a request for a server with the given capabilities.
pub(super) fn request_body(
    request: &ModelRequest,
    capabilities: ServerCapabilities,
) -> Result<Body, ModelError> {
    let limit = |name| (capabilities.limit == name).then_some(request.max_tokens);
    let body = Wire {
        model: &request.model,
        max_tokens: limit(TokenLimit::MaxTokens),
        max_completion_tokens: limit(TokenLimit::MaxCompletionTokens),
        stream: true,
        stream_options: capabilities.counts_tokens.then_some(StreamOptions {
            include_usage: true,
        }),
        reasoning_effort: request
            .effort
            .and_then(|effort| capabilities.effort.word(effort)),
        tools: offered(request).map(WireTool::new).collect(),
        messages: wire_messages(request, capabilities.vision),
    };
    match serde_json::to_vec(&body) {
        Ok(bytes) => Ok(bytes.into()),
        Err(error) => Err(ModelError::InvalidRequest(format!(
            "it cannot be written as JSON ({error})"
        ))),
    }
}

#[derive(Serialize)]
struct Wire<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct WireTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a InputSchema,
}

impl<'a> WireTool<'a> {
    fn new(tool: &'a ToolSpec) -> Self {
        Self {
            kind: "function",
            function: WireFunction {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.input_schema,
            },
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: Text<'a>,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        /// Empty if there are only calls: the templates of some models fail on `null`.
        content: Text<'a>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: Text<'a>,
        content: Text<'a>,
    },
}

#[derive(Debug, Serialize)]
struct WireCall<'a> {
    id: Text<'a>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireCalled<'a>,
}

#[derive(Debug, Serialize)]
struct WireCalled<'a> {
    name: Text<'a>,
    /// JSON encoded as a string.
    arguments: Cow<'a, str>,
}

/// The fields of stored blocks that are sent, as raw JSON.
#[derive(Deserialize)]
struct StoredText<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

#[derive(Deserialize)]
struct StoredCall<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow)]
    input: &'a RawValue,
}

#[derive(Deserialize)]
struct StoredResult<'a> {
    #[serde(borrow)]
    tool_use_id: &'a RawValue,
    #[serde(borrow)]
    content: &'a RawValue,
    #[serde(default)]
    is_error: bool,
}

fn wire_messages(request: &ModelRequest, vision: bool) -> Vec<WireMessage<'_>> {
    let system = request.system.iter().map(|block| written(&block.text));
    let mut wire = Vec::new();
    let content = joined(system);
    if !is_empty(&content) {
        wire.push(WireMessage::System { content });
    }
    for message in &*request.messages {
        match message.role {
            Role::Assistant => push_assistant(&mut wire, message),
            Role::User => push_user(&mut wire, message, &request.tools, vision),
        }
    }
    wire
}

fn push_assistant<'a>(wire: &mut Vec<WireMessage<'a>>, message: &'a StoredMessage) {
    let text = joined(message.blocks.iter().filter_map(text_of));
    let calls: Vec<WireCall> = message.blocks.iter().filter_map(call_of).collect();
    match wire.last_mut() {
        _ if is_empty(&text) && calls.is_empty() => {}
        Some(WireMessage::Assistant {
            content,
            tool_calls,
        }) if tool_calls.is_empty() => {
            append(content, text);
            tool_calls.extend(calls);
        }
        _ => wire.push(WireMessage::Assistant {
            content: text,
            tool_calls: calls,
        }),
    }
}

/// Appends a user message: tool results first, then the other text, then the images of both.
fn push_user<'a>(
    wire: &mut Vec<WireMessage<'a>>,
    message: &'a StoredMessage,
    tools: &[ToolSpec],
    vision: bool,
) {
    let mut images = Images {
        vision,
        found: Vec::new(),
    };
    for block in &message.blocks {
        wire.extend(result_of(block, tools, &mut images));
    }
    let others = message
        .blocks
        .iter()
        .filter(|block| block.result_id().is_none());
    let text = joined(others.filter_map(|block| user_text(block, &mut images)));
    let images = images.found;
    match wire.last_mut() {
        _ if is_empty(&text) && images.is_empty() => {}
        Some(WireMessage::User { content }) => {
            append(&mut content.text, text);
            content.images.extend(images);
        }
        _ => {
            let content = UserContent { text, images };
            wire.push(WireMessage::User { content });
        }
    }
}

fn text_of(block: &StoredBlock) -> Option<Text<'_>> {
    let StoredText { text } = match block.kind() {
        BlockKind::Text | BlockKind::BlankText => serde_json::from_str(block.json()).ok()?,
        _ => return None,
    };
    Some(Cow::Borrowed(text))
}

fn call_of(block: &StoredBlock) -> Option<WireCall<'_>> {
    block.call_id()?;
    let StoredCall { id, name, input } = serde_json::from_str(block.json()).ok()?;
    let arguments = if block.kind() == BlockKind::ToolUse {
        Cow::Borrowed(input.get())
    } else {
        let input: Value = serde_json::from_str(input.get()).ok()?;
        Cow::Owned(sendable_input(&input).to_string())
    };
    Some(WireCall {
        id: Cow::Borrowed(id),
        kind: "function",
        function: WireCalled {
            name: Cow::Borrowed(name),
            arguments,
        },
    })
}

fn result_of<'a>(
    block: &'a StoredBlock,
    tools: &[ToolSpec],
    images: &mut Images,
) -> Option<WireMessage<'a>> {
    block.result_id()?;
    let (tool_call_id, content, is_error) = if block.kind() == BlockKind::ToolResult {
        let result: StoredResult = serde_json::from_str(block.json()).ok()?;
        let content = Cow::Borrowed(result.content);
        (Cow::Borrowed(result.tool_use_id), content, result.is_error)
    } else {
        let ContentBlock::Other(value) = block.block() else {
            return None;
        };
        let parts = value["content"].as_array().map_or(&[][..], Vec::as_slice);
        let text = |part: &Value| match referred(part) {
            Some(name) => shown(name, tools),
            None => images.as_text(part, true),
        };
        let content = joined(parts.iter().map(text).map(|text| written(&text)));
        let id = written(value["tool_use_id"].as_str()?);
        (id, content, value["is_error"] == true)
    };
    let says_so = inside(&content)
        .get(..ERROR.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(ERROR));
    Some(WireMessage::Tool {
        tool_call_id,
        content: if is_error && !says_so {
            quoted(format!("\"{ERROR}{}\"", inside(&content)))
        } else {
            content
        },
    })
}

/// Converts a block of a user message to text.
fn user_text<'a>(block: &'a StoredBlock, images: &mut Images) -> Option<Text<'a>> {
    if block.kind() != BlockKind::Other {
        return text_of(block);
    }
    match block.block() {
        ContentBlock::Other(value) => Some(written(&images.as_text(&value, false))),
        _ => None,
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
