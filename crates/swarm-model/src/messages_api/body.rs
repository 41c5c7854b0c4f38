//! Builds the request body deterministically.
//!
//! The server's prompt cache matches byte prefixes, so the output must not depend on hash order,
//! time or earlier requests. [`super::marks`] decides which blocks carry a cache marker.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, json};
use swarm_protocol::CacheLifetime;

use super::head::LastHead;
use super::marks::Marks;
use crate::error::ModelError;
use crate::message::{ContentBlock, sendable_input};
use crate::packing::{CLOSING, opening};
use crate::remote::{Body, BodyWriter};
use crate::request::ModelRequest;
use crate::stored::{BlockKind, StoredBlock, StoredMessage};

/// Serializes a request. The conversation is already JSON; where it is packed, it is shared, not
/// copied.
pub(super) fn request_body(
    request: &ModelRequest,
    cache: CacheLifetime,
    head: &LastHead,
) -> Result<Body, ModelError> {
    let marks = Marks::of(request);
    let mut body = BodyWriter::default();
    let head = head.of(request, &marks, cache)?;
    body.share(&head, 0..head.len());
    let deferred = request.tools.iter().filter(|tool| tool.deferred);
    let mut messages = WrittenMessages {
        body,
        marks,
        deferred: deferred.map(|tool| tool.name.as_str()).collect(),
        cache,
        separator: b"",
    };
    for (index, message) in request.messages.iter().enumerate() {
        messages.write(index, message);
    }
    let mut body = messages.body;
    body.copy(b"]}");
    Ok(body.finish())
}

/// The messages of a body.
#[derive(Debug)]
struct WrittenMessages<'a> {
    body: BodyWriter,
    marks: Marks,
    /// Names of the deferred tools.
    deferred: HashSet<&'a str>,
    cache: CacheLifetime,
    /// Text in front of the next message.
    separator: &'static [u8],
}

impl WrittenMessages<'_> {
    /// Writes one message. The server refuses empty text blocks and empty messages, so neither is
    /// sent; it treats consecutive messages with the same role as one turn.
    fn write(&mut self, index: usize, message: &StoredMessage) {
        if !has_content(message) {
            return;
        }
        self.body.copy(self.separator);
        self.separator = b",";
        self.body.copy(opening(message.role));
        let mut between: &[u8] = b"";
        let blocks = message.blocks.iter().enumerate();
        for (at, block) in blocks.filter(|(_, block)| is_sent(block)) {
            self.body.copy(between);
            between = b",";
            let is_marked = self.marks.blocks.contains(&(index, at));
            let mark = is_marked.then(|| mark(self.cache));
            match block.kind() {
                BlockKind::BrokenToolUse => self.write_block(&with_valid_input(block), mark),
                BlockKind::Other => {
                    let block = without_stale_references(block, &self.deferred);
                    self.write_block(&block, mark);
                }
                _ => self.write_block(block, mark),
            }
        }
        self.body.copy(CLOSING);
    }

    fn write_block(&mut self, block: &StoredBlock, mark: Option<&str>) {
        let (memory, mut range) = block.place();
        if mark.is_some() && memory[range.clone()].ends_with(b"}") {
            range.end -= 1;
        }
        self.body.share(memory, range);
        self.body.copy(mark.unwrap_or_default().as_bytes());
    }
}

/// Returns the marker as JSON text that completes a block: the last field and the closing brace.
fn mark(cache: CacheLifetime) -> &'static str {
    match cache {
        CacheLifetime::FiveMinutes => r#","cache_control":{"type":"ephemeral"}}"#,
        CacheLifetime::OneHour => r#","cache_control":{"type":"ephemeral","ttl":"1h"}}"#,
    }
}

fn has_content(message: &StoredMessage) -> bool {
    message.blocks.iter().any(is_sent)
}

fn is_sent(block: &StoredBlock) -> bool {
    // Unsigned thinking comes from another provider's model; the server would refuse it.
    !matches!(
        block.kind(),
        BlockKind::EmptyText | BlockKind::UnsignedThinking
    )
}

/// Returns a tool call whose input the server accepts.
fn with_valid_input(block: &StoredBlock) -> StoredBlock {
    let mut block = block.block();
    if let ContentBlock::ToolUse { input, .. } = &mut block {
        *input = sendable_input(input).into_owned();
    }
    StoredBlock::from(&block)
}

/// Maximum size of a tool search result in bytes. Larger blocks hold images or documents.
const MAX_SEARCH_BYTES: usize = 256 * 1024;

/// Removes references to tools that the request does not defer, for example after an MCP server has
/// disconnected: the API refuses them.
fn without_stale_references<'a>(
    block: &'a StoredBlock,
    deferred: &HashSet<&str>,
) -> Cow<'a, StoredBlock> {
    let is_long = block.bytes().len() > MAX_SEARCH_BYTES;
    if is_long || !block.json().contains(r#""tool_reference""#) {
        return Cow::Borrowed(block);
    }
    let ContentBlock::Other(mut result) = block.block() else {
        return Cow::Borrowed(block);
    };
    let Some(parts) = result["content"].as_array_mut() else {
        return Cow::Borrowed(block);
    };
    let is_stale = |part: &Value| {
        let name = part["tool_name"].as_str().unwrap_or_default();
        part["type"] == "tool_reference" && !deferred.contains(name)
    };
    if !parts.iter().any(is_stale) {
        return Cow::Borrowed(block);
    }
    parts.retain(|part| !is_stale(part));
    if parts.is_empty() {
        parts.push(
            json!({"type": "text", "text": "The tools that were found are no longer available."}),
        );
    }
    Cow::Owned(StoredBlock::from(&ContentBlock::Other(result)))
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
