//! The body of a request: the same request gives the same bytes, so that a server's prefix cache holds.
//!
//! A system prompt is one message at the front. Each tool call is answered by a message of its own directly after the
//! calls, before anything else is said; the API has no place for an error there, so the text says it. Messages of one role
//! in a row are joined, because the chat templates of some models refuse them. Thinking is not sent: most servers have no
//! place for it and some refuse it.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use super::habits::{Habits, TokenLimit};
use crate::error::ModelError;
use crate::message::{ContentBlock, Message, Role, sendable_input};
use crate::request::{ModelRequest, ToolSpec};

/// Stands between texts that become one.
const BETWEEN: &str = "\n\n";

/// Stands in front of the result of a call that failed.
const ERROR: &str = "Error: ";

/// Serializes a request for a server with these habits.
pub(super) fn request_body(request: &ModelRequest, habits: Habits) -> Result<Bytes, ModelError> {
    let limit = |name| (habits.limit == name).then_some(request.max_tokens);
    let body = Body {
        model: &request.model,
        max_tokens: limit(TokenLimit::MaxTokens),
        max_completion_tokens: limit(TokenLimit::MaxCompletionTokens),
        stream: true,
        stream_options: habits.counts_tokens.then_some(StreamOptions {
            include_usage: true,
        }),
        tools: request.tools.iter().map(WireTool::new).collect(),
        messages: wire_messages(request),
    };
    match serde_json::to_vec(&body) {
        Ok(bytes) => Ok(Bytes::from(bytes)),
        Err(error) => Err(ModelError::InvalidRequest {
            message: format!("it cannot be written as JSON ({error})"),
        }),
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    messages: Vec<WireMessage>,
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
    parameters: &'a Value,
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

#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage {
    System {
        content: String,
    },
    User {
        content: String,
    },
    Assistant {
        /// Empty beside calls alone: templates of some models cannot do with `null`.
        content: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

#[derive(Debug, PartialEq, Serialize)]
struct WireCall {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireCalled,
}

#[derive(Debug, PartialEq, Serialize)]
struct WireCalled {
    name: String,
    /// JSON as text.
    arguments: String,
}

fn wire_messages(request: &ModelRequest) -> Vec<WireMessage> {
    let system = request.system.iter().map(|block| block.text.as_str());
    let mut wire = Vec::new();
    let content = joined(system);
    if !content.is_empty() {
        wire.push(WireMessage::System { content });
    }
    for message in &request.messages {
        match message.role {
            Role::Assistant => say(&mut wire, message),
            Role::User => tell(&mut wire, message),
        }
    }
    wire
}

/// What the model said.
fn say(wire: &mut Vec<WireMessage>, message: &Message) {
    let text = joined(message.content.iter().filter_map(text_of));
    let calls: Vec<WireCall> = message.content.iter().filter_map(call_of).collect();
    match wire.last_mut() {
        _ if text.is_empty() && calls.is_empty() => {}
        Some(WireMessage::Assistant {
            content,
            tool_calls,
        }) if tool_calls.is_empty() => {
            append(content, &text);
            tool_calls.extend(calls);
        }
        _ => wire.push(WireMessage::Assistant {
            content: text,
            tool_calls: calls,
        }),
    }
}

/// What the model was told: results first, then what came with them.
fn tell(wire: &mut Vec<WireMessage>, message: &Message) {
    wire.extend(message.content.iter().filter_map(result_of));
    let others = message
        .content
        .iter()
        .filter(|block| result_of(block).is_none());
    let text = others.filter_map(told).collect::<Vec<_>>();
    let text = joined(text.iter().map(String::as_str));
    match wire.last_mut() {
        _ if text.is_empty() => {}
        Some(WireMessage::User { content }) => append(content, &text),
        _ => wire.push(WireMessage::User { content: text }),
    }
}

fn text_of(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text { text } => Some(text),
        _ => None,
    }
}

fn call_of(block: &ContentBlock) -> Option<WireCall> {
    let ContentBlock::ToolUse { id, name, input } = block else {
        return None;
    };
    Some(WireCall {
        id: id.clone(),
        kind: "function",
        function: WireCalled {
            name: name.clone(),
            arguments: sendable_input(input).to_string(),
        },
    })
}

fn result_of(block: &ContentBlock) -> Option<WireMessage> {
    let (id, content, is_error) = match block {
        ContentBlock::ToolResult {
            tool_use_id,
            content,
            is_error,
        } => (tool_use_id.as_str(), content.clone(), *is_error),
        ContentBlock::Other(value) if value["type"] == "tool_result" => {
            let parts = value["content"].as_array().map_or(&[][..], Vec::as_slice);
            let parts: Vec<String> = parts.iter().map(part).collect();
            let is_error = value["is_error"] == true;
            let content = joined(parts.iter().map(String::as_str));
            (value["tool_use_id"].as_str()?, content, is_error)
        }
        _ => return None,
    };
    let says_so = content
        .get(..ERROR.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(ERROR));
    Some(WireMessage::Tool {
        tool_call_id: id.to_owned(),
        content: if is_error && !says_so {
            format!("{ERROR}{content}")
        } else {
            content
        },
    })
}

/// A block of a user message as text.
fn told(block: &ContentBlock) -> Option<String> {
    match block {
        ContentBlock::Text { text } => Some(text.clone()),
        ContentBlock::Other(value) => Some(part(value)),
        _ => None,
    }
}

/// A block that has no shape of its own here, as text.
fn part(value: &Value) -> String {
    if let Value::String(text) = &value["text"] {
        return text.clone();
    }
    let kind = value["type"].as_str().unwrap_or("unknown");
    format!("[A block of the type {kind} stood here. It cannot be sent to this model.]")
}

fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    texts.join(BETWEEN)
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str(BETWEEN);
    }
    text.push_str(more);
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
