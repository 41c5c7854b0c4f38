//! What a model is asked.

use std::sync::Arc;

use serde_json::Value;
use swarm_protocol::{Effort, Thinking};

use crate::stored::StoredMessage;

/// One request: everything the model gets to see.
///
/// The same request serializes to the same bytes, and a request with more messages at the end starts with
/// the bytes of the shorter one (apart from prompt-cache markers), so that the server's prompt cache holds.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The model's id at its provider, without the `provider/` in front.
    pub model: String,
    /// The system prompt, in blocks.
    pub system: Arc<[SystemBlock]>,
    /// The tools on offer. Their order is part of the cached prefix.
    pub tools: Arc<[ToolSpec]>,
    /// The conversation so far, ending with a user message.
    pub messages: Arc<[Arc<StoredMessage>]>,
    /// The most output tokens the answer may have.
    pub max_tokens: u32,
    /// Whether it thinks before it answers. What it thinks counts towards `max_tokens`. Clients send what the model takes.
    pub thinking: Thinking,
    /// How hard it thinks; `None`, and a model or server that knows no effort, leaves it to the model.
    pub effort: Option<Effort>,
    /// Who asks. The scripted model matches on it; servers never see it.
    pub agent: String,
}

/// A block of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemBlock {
    /// The text.
    pub text: String,
    /// Whether the prompt cache should keep everything up to the end of this block.
    pub cache: bool,
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The name the model calls it by.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON schema of its input.
    pub input_schema: Value,
    /// Whether the prompt has it only once a result of a tool search refers to it. For models that can do that
    /// ([`crate::Model::defers_tools`]).
    pub deferred: bool,
}
