//! The body of a request: the same request gives the same bytes.
//!
//! The server's prompt cache matches byte prefixes, so nothing here may depend on hashing, time or earlier
//! requests. Up to four blocks carry a cache marker, the API's limit: the ends of the last and of the previous
//! user message (the previous one reads what the request before wrote), the last tool, and as many of the
//! flagged system blocks as are left, counted from the last.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use crate::error::ModelError;
use crate::message::{ContentBlock, Message, Role, sendable_input};
use crate::request::{ModelRequest, SystemBlock, ToolSpec};

/// Markers that one request may carry
/// (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>).
const MOST_MARKERS: usize = 4;

/// User messages that get a marker at their end.
const MARKED_MESSAGES: usize = 2;

/// Serializes a request.
pub(super) fn request_body(request: &ModelRequest) -> Result<Bytes, ModelError> {
    let messages = wire_messages(&request.messages);
    let message_markers = messages
        .iter()
        .filter(|message| message.is_marked())
        .count();
    let tool_markers = usize::from(!request.tools.is_empty());
    let body = Body {
        model: &request.model,
        max_tokens: request.max_tokens,
        stream: true,
        thinking: request.thinking_budget.map(|budget_tokens| Thinking {
            kind: "enabled",
            budget_tokens,
        }),
        tools: wire_tools(&request.tools),
        system: wire_system(
            &request.system,
            MOST_MARKERS - message_markers - tool_markers,
        ),
        messages,
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
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<WireSystem<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct Thinking {
    #[serde(rename = "type")]
    kind: &'static str,
    budget_tokens: u32,
}

#[derive(Serialize)]
struct Marker {
    #[serde(rename = "type")]
    kind: &'static str,
}

const MARKER: Marker = Marker { kind: "ephemeral" };

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Marker>,
}

#[derive(Serialize)]
struct WireSystem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Marker>,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    content: Vec<WireBlock<'a>>,
}

#[derive(Serialize)]
struct WireBlock<'a> {
    #[serde(flatten)]
    shape: Shape<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Marker>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Shape<'a> {
    AsIs(&'a ContentBlock),
    BrokenCall {
        #[serde(rename = "type")]
        kind: &'static str,
        id: &'a str,
        name: &'a str,
        input: Value,
    },
}

impl WireMessage<'_> {
    fn is_marked(&self) -> bool {
        self.content
            .iter()
            .any(|block| block.cache_control.is_some())
    }
}

fn wire_tools(tools: &[ToolSpec]) -> Vec<WireTool<'_>> {
    let last = tools.len().saturating_sub(1);
    tools
        .iter()
        .enumerate()
        .map(|(index, tool)| WireTool {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.input_schema,
            cache_control: (index == last).then_some(MARKER),
        })
        .collect()
}

fn wire_system(blocks: &[SystemBlock], mut markers: usize) -> Vec<WireSystem<'_>> {
    let mut wire: Vec<WireSystem<'_>> = blocks
        .iter()
        .rev()
        .filter(|block| !block.text.is_empty())
        .map(|block| {
            let marked = block.cache && markers > 0;
            markers -= usize::from(marked);
            WireSystem {
                kind: "text",
                text: &block.text,
                cache_control: marked.then_some(MARKER),
            }
        })
        .collect();
    wire.reverse();
    wire
}

/// The server refuses empty text blocks and empty messages, so neither is sent; messages of one role in a row
/// are one turn to it.
fn wire_messages(messages: &[Message]) -> Vec<WireMessage<'_>> {
    let mut wire: Vec<WireMessage<'_>> = messages
        .iter()
        .map(|message| WireMessage {
            role: message.role,
            content: message.content.iter().filter_map(wire_block).collect(),
        })
        .filter(|message| !message.content.is_empty())
        .collect();
    let users = wire
        .iter_mut()
        .rev()
        .filter(|message| message.role == Role::User);
    for message in users.take(MARKED_MESSAGES) {
        let last = message.content.iter_mut().rev();
        if let Some(block) = last.into_iter().find(|block| takes_marker(&block.shape)) {
            block.cache_control = Some(MARKER);
        }
    }
    wire
}

fn wire_block(block: &ContentBlock) -> Option<WireBlock<'_>> {
    let shape = match block {
        ContentBlock::Text { text } if text.is_empty() => return None,
        // Thinking of another provider's model, which the server would refuse.
        ContentBlock::Thinking { signature, .. } if signature.is_empty() => return None,
        ContentBlock::ToolUse { id, name, input } if !input.is_object() => Shape::BrokenCall {
            kind: "tool_use",
            id,
            name,
            input: sendable_input(input).into_owned(),
        },
        _ => Shape::AsIs(block),
    };
    Some(WireBlock {
        shape,
        cache_control: None,
    })
}

fn takes_marker(shape: &Shape<'_>) -> bool {
    matches!(
        shape,
        Shape::AsIs(ContentBlock::Text { .. } | ContentBlock::ToolResult { .. })
    )
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
