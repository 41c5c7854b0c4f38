//! The body of a request: the same request gives the same bytes.
//!
//! The server's prompt cache matches byte prefixes, so nothing here may depend on hashing, time or earlier
//! requests. Which blocks carry a cache marker is decided in [`super::marks`].

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use swarm_protocol::Effort;

use super::effort;
use super::marks::{MOST, Marks};
use crate::error::ModelError;
use crate::message::{ContentBlock, Role, sendable_input};
use crate::request::{ModelRequest, SystemBlock, ToolSpec};
use crate::stored::{BlockKind, StoredBlock, StoredMessage};

/// Serializes a request. The conversation is there as JSON already and is joined to the rest.
pub(super) fn request_body(request: &ModelRequest) -> Result<Bytes, ModelError> {
    let marks = Marks::of(request);
    let head = Head {
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
    };
    let mut head = serde_json::to_string(&head).map_err(|error| ModelError::InvalidRequest {
        message: format!("it cannot be written as JSON ({error})"),
    })?;
    // The messages are the last field.
    head.pop();
    let mut body = String::with_capacity(head.len() + room_for(&request.messages));
    body.push_str(&head);
    body.push_str(",\"messages\":");
    push_messages(&mut body, &request.messages, &marks);
    body.push('}');
    Ok(Bytes::from(body))
}

#[derive(Serialize)]
struct Head<'a> {
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

/// The same behind the fields of a block, with the end of the block.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}}"#;

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

/// What stands around the blocks of a message, at most, and around a block.
const FRAME: usize = 32;

/// Bytes that the messages take, roughly.
fn room_for(messages: &[Arc<StoredMessage>]) -> usize {
    let blocks = |message: &Arc<StoredMessage>| -> usize {
        let blocks = message.blocks.iter();
        blocks.map(|block| block.json().len() + 1).sum()
    };
    let messages = messages.iter().map(|message| blocks(message) + FRAME);
    messages.sum::<usize>() + MOST * MARK.len() + FRAME
}

/// The server refuses empty text blocks and empty messages, so neither is sent; messages of one role in a row
/// are one turn to it.
fn push_messages(body: &mut String, messages: &[Arc<StoredMessage>], marks: &Marks) {
    body.push('[');
    let mut between = "";
    for (index, message) in messages.iter().enumerate() {
        if !message.blocks.iter().any(is_sent) {
            continue;
        }
        body.push_str(between);
        between = ",";
        body.push_str(match message.role {
            Role::User => r#"{"role":"user","content":["#,
            Role::Assistant => r#"{"role":"assistant","content":["#,
        });
        let mut between = "";
        let blocks = message.blocks.iter().enumerate();
        for (at, block) in blocks.filter(|(_, block)| is_sent(block)) {
            body.push_str(between);
            between = ",";
            push_block(body, block, marks.blocks.contains(&(index, at)));
        }
        body.push_str("]}");
    }
    body.push(']');
}

fn push_block(body: &mut String, block: &StoredBlock, is_marked: bool) {
    if block.kind() == BlockKind::BrokenToolUse {
        return body.push_str(&mended(block));
    }
    match block.json().strip_suffix('}').filter(|_| is_marked) {
        Some(open) => {
            body.push_str(open);
            body.push_str(MARK);
        }
        None => body.push_str(block.json()),
    }
}

fn is_sent(block: &StoredBlock) -> bool {
    // Unsigned thinking is of another provider's model; the server would refuse it.
    !matches!(
        block.kind(),
        BlockKind::EmptyText | BlockKind::UnsignedThinking
    )
}

/// A call with an input that the server takes.
fn mended(block: &StoredBlock) -> String {
    let mut block = block.block();
    if let ContentBlock::ToolUse { input, .. } = &mut block {
        *input = sendable_input(input).into_owned();
    }
    StoredBlock::from(&block).json().to_owned()
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
