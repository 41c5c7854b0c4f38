//! Requests to a model.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use swarm_protocol::{Effort, Thinking, Usage};

use crate::stored::StoredMessage;

/// One request: everything that the model sees.
///
/// The same request serializes to the same bytes, and a request with more messages at the end
/// starts with the bytes of the shorter one (apart from cache markers), so that the server's prompt
/// cache hits.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The provider's model id, without the prefix `provider/`.
    pub model: String,
    /// The system prompt, in blocks.
    pub system: Arc<[SystemBlock]>,
    /// The available tools. Their order is part of the cached prefix.
    pub tools: Arc<[ToolSpec]>,
    /// The conversation so far, ending with a user message.
    pub messages: Arc<[Arc<StoredMessage>]>,
    /// Maximum number of output tokens.
    pub max_tokens: u32,
    /// Extended thinking. Thinking counts towards `max_tokens`. Clients send what the model
    /// supports.
    pub thinking: Thinking,
    /// Reasoning effort. With `None`, or if the model or server does not support it, the model
    /// decides.
    pub effort: Option<Effort>,
    /// Name of the agent that sends the request. Only the scripted model and logs use it; it is not
    /// sent to servers.
    pub agent: String,
}

/// Tokens that a server may add to a request, such as its own prompt for tools.
const HIDDEN_TOKENS: u64 = 2000;

/// Input tokens of a request without a better limit.
const LARGEST_INPUT: u64 = 1_000_000;

impl ModelRequest {
    /// Returns the most input and output tokens that one attempt can use, if the context window has
    /// `window` tokens. No token is shorter than a byte; pages of a document have more tokens than
    /// their file has bytes.
    pub fn most_tokens(&self, window: Option<u64>) -> Usage {
        let system = self.system.iter().map(|block| block.text.len());
        let tools = self
            .tools
            .iter()
            .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.json().len());
        let blocks = || self.messages.iter().flat_map(|message| &message.blocks);
        let bytes: usize = system
            .chain(tools)
            .chain(blocks().map(|block| block.json().len()))
            .sum();
        let has_document = blocks().any(|block| block.json().contains("\"document\""));
        let bytes = if has_document {
            LARGEST_INPUT
        } else {
            HIDDEN_TOKENS.saturating_add(bytes as u64)
        };
        Usage {
            input_tokens: window.map_or(bytes, |window| bytes.min(window)),
            output_tokens: self.max_tokens.into(),
            ..Usage::default()
        }
    }
}

/// A block of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemBlock {
    /// The text.
    pub text: String,
    /// Whether to cache the prompt up to the end of this block.
    pub cache: bool,
}

/// A tool as described to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// Name of the tool.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON schema of its input.
    pub input_schema: InputSchema,
    /// Whether the tool is part of the prompt only after a tool search result refers to it, where
    /// the client or the server supports it ([`crate::Model::defers_tools`]).
    pub deferred: bool,
}

/// A JSON schema as text: it is sent with every request, and takes less memory than its values.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct InputSchema(Box<RawValue>);

impl InputSchema {
    /// Returns the JSON.
    pub fn json(&self) -> &str {
        self.0.get()
    }
}

impl From<Value> for InputSchema {
    fn from(schema: Value) -> Self {
        // Serializing a JSON value cannot fail.
        Self(serde_json::value::to_raw_value(&schema).unwrap_or_default())
    }
}

impl Eq for InputSchema {}

impl PartialEq for InputSchema {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json()
    }
}
