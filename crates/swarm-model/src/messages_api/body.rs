//! The body of a request: the same request gives the same bytes.
//!
//! The server's prompt cache matches byte prefixes, so nothing here may depend on hashing, time or earlier
//! requests. Which blocks carry a cache marker is decided in [`super::marks`].

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use swarm_protocol::Effort;

use super::effort;
use super::marks::Marks;
use crate::error::ModelError;
use crate::message::{ContentBlock, Message, Role, sendable_input};
use crate::request::{ModelRequest, SystemBlock, ToolSpec};

/// Serializes a request.
pub(super) fn request_body(request: &ModelRequest) -> Result<Bytes, ModelError> {
    let marks = Marks::of(request);
    let body = Body {
        model: &request.model,
        max_tokens: request.max_tokens,
        stream: true,
        thinking: request.thinking_budget.map(|budget_tokens| Thinking {
            kind: "enabled",
            budget_tokens,
        }),
        output_config: request
            .effort
            .and_then(|wanted| effort::sendable(&request.model, wanted))
            .map(|effort| OutputConfig { effort }),
        tools: wire_tools(&request.tools, &marks),
        system: wire_system(&request.system, &marks),
        messages: wire_messages(&request.messages, &marks),
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
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
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
struct OutputConfig {
    effort: Effort,
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

fn wire_tools<'a>(tools: &'a [ToolSpec], marks: &Marks) -> Vec<WireTool<'a>> {
    let last = tools.len().saturating_sub(1);
    tools
        .iter()
        .enumerate()
        .map(|(index, tool)| WireTool {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.input_schema,
            cache_control: (marks.tools && index == last).then_some(MARKER),
        })
        .collect()
}

fn wire_system<'a>(blocks: &'a [SystemBlock], marks: &Marks) -> Vec<WireSystem<'a>> {
    blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| !block.text.is_empty())
        .map(|(index, block)| WireSystem {
            kind: "text",
            text: &block.text,
            cache_control: marks.system.contains(&index).then_some(MARKER),
        })
        .collect()
}

/// The server refuses empty text blocks and empty messages, so neither is sent; messages of one role in a row
/// are one turn to it.
fn wire_messages<'a>(messages: &'a [Message], marks: &Marks) -> Vec<WireMessage<'a>> {
    messages
        .iter()
        .enumerate()
        .map(|(index, message)| {
            let blocks = message.content.iter().enumerate();
            WireMessage {
                role: message.role,
                content: blocks
                    .filter_map(|(at, block)| {
                        Some(WireBlock {
                            shape: shape(block)?,
                            cache_control: marks.blocks.contains(&(index, at)).then_some(MARKER),
                        })
                    })
                    .collect(),
            }
        })
        .filter(|message| !message.content.is_empty())
        .collect()
}

fn shape(block: &ContentBlock) -> Option<Shape<'_>> {
    Some(match block {
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
    })
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
