//! The part of a request body in front of the messages.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use serde::Serialize;
use swarm_protocol::{CacheLifetime, Effort};

use super::marks::Marks;
use super::thinking::{WireThinking, sendable_effort, sendable_thinking};
use crate::error::ModelError;
use crate::request::{InputSchema, ModelRequest, SystemBlock, ToolSpec};

/// The last head of a client. Most requests have the head of the request before them, and
/// serializing it takes longer than everything else that a request needs.
#[derive(Debug, Default)]
pub(super) struct LastHead(Mutex<Option<(Origin, Arc<Bytes>)>>);

/// What a head depends on, besides the settings of the client.
#[derive(Debug, PartialEq)]
struct Origin {
    /// The request without its messages and its agent, which are not in the head.
    request: ModelRequest,
    system_marks: Vec<usize>,
    marks_tools: bool,
}

impl LastHead {
    /// Returns the head of a request, up to the first message.
    pub(super) fn of(
        &self,
        request: &ModelRequest,
        marks: &Marks,
        cache: CacheLifetime,
    ) -> Result<Arc<Bytes>, ModelError> {
        let origin = Origin {
            request: ModelRequest {
                messages: Arc::default(),
                agent: String::new(),
                ..request.clone()
            },
            system_marks: marks.system.clone(),
            marks_tools: marks.tools,
        };
        let mut last = self.0.lock();
        if let Some((known, head)) = &*last
            && *known == origin
        {
            return Ok(Arc::clone(head));
        }
        let head = Arc::new(Bytes::from(serialized(request, marks, cache)?));
        *last = Some((origin, Arc::clone(&head)));
        Ok(head)
    }
}

fn serialized(
    request: &ModelRequest,
    marks: &Marks,
    cache: CacheLifetime,
) -> Result<Box<[u8]>, ModelError> {
    let head = Head {
        model: &request.model,
        max_tokens: request.max_tokens,
        stream: true,
        thinking: sendable_thinking(&request.model, request.thinking, request.max_tokens),
        output_config: request
            .effort
            .and_then(|wanted| sendable_effort(&request.model, wanted))
            .map(|effort| OutputConfig { effort }),
        tools: wire_tools(&request.tools, marks, cache),
        system: wire_system(&request.system, marks, cache),
    };
    let mut head = serde_json::to_vec(&head).map_err(|error| {
        ModelError::InvalidRequest(format!("it cannot be written as JSON ({error})"))
    })?;
    // The messages are the last field.
    head.pop();
    head.extend_from_slice(br#","messages":["#);
    Ok(head.into())
}

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<WireThinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<WireSystem<'a>>,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: Effort,
}

#[derive(Serialize)]
struct Marker {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl Marker {
    fn new(cache: CacheLifetime) -> Self {
        Self {
            kind: "ephemeral",
            ttl: match cache {
                CacheLifetime::FiveMinutes => None,
                CacheLifetime::OneHour => Some(cache.name()),
            },
        }
    }
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a InputSchema,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    defer_loading: bool,
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

fn wire_tools<'a>(tools: &'a [ToolSpec], marks: &Marks, cache: CacheLifetime) -> Vec<WireTool<'a>> {
    // The API refuses a marker on a deferred tool, which is not part of the prefix.
    let last = tools.iter().rposition(|tool| !tool.deferred);
    tools
        .iter()
        .enumerate()
        .map(|(index, tool)| WireTool {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.input_schema,
            defer_loading: tool.deferred,
            cache_control: (marks.tools && Some(index) == last).then(|| Marker::new(cache)),
        })
        .collect()
}

fn wire_system<'a>(
    blocks: &'a [SystemBlock],
    marks: &Marks,
    cache: CacheLifetime,
) -> Vec<WireSystem<'a>> {
    blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| !block.text.is_empty())
        .map(|(index, block)| WireSystem {
            kind: "text",
            text: &block.text,
            cache_control: marks.system.contains(&index).then(|| Marker::new(cache)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use swarm_protocol::Thinking;

    use super::*;

    #[test]
    fn a_head_is_serialized_again_only_if_it_changes() {
        let block = |text: &str| SystemBlock {
            text: text.to_owned(),
            cache: true,
        };
        let request = ModelRequest {
            model: "claude-x".to_owned(),
            system: [block("Be brief.")].into(),
            tools: Arc::default(),
            messages: Arc::default(),
            max_tokens: 10,
            thinking: Thinking::Off,
            effort: None,
            agent: "bob".to_owned(),
        };
        let last = LastHead::default();
        let of = |request: &ModelRequest| {
            let cache = CacheLifetime::FiveMinutes;
            last.of(request, &Marks::of(request), cache).unwrap()
        };
        let first = of(&request);
        assert!(first.ends_with(br#","messages":["#));
        let again = ModelRequest {
            system: [block("Be brief.")].into(),
            agent: "a fork of bob".to_owned(),
            ..request.clone()
        };
        assert!(Arc::ptr_eq(&first, &of(&again)));
        let changed = ModelRequest {
            max_tokens: 11,
            ..request.clone()
        };
        assert!(of(&changed).starts_with(br#"{"model":"claude-x","max_tokens":11"#));
        assert_eq!(of(&request), first);
    }
}
