//! Wire format of the chunks of a streamed answer.

use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::Usage;

/// One chunk. Nearly every field is optional, because servers omit it or set it to null.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece {
    pub(super) model: Option<String>,
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Option<TokenCounts>,
}

/// One of the alternative answers; this client requests one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    pub(super) index: Option<u64>,
    /// The next part of the message; the complete message from a server that does not stream.
    #[serde(alias = "message")]
    pub(super) delta: Option<Delta>,
    pub(super) finish_reason: Option<String>,
}

/// More of the message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta {
    /// A string; a list of parts from Mistral.
    content: Value,
    pub(super) refusal: Option<String>,
    /// vLLM, llama.cpp, `DeepSeek`, LM Studio.
    reasoning_content: Option<String>,
    /// Ollama, `OpenRouter`, later vLLM, which sends both.
    reasoning: Option<String>,
    pub(super) tool_calls: Option<Vec<CallPiece>>,
}

/// More of a tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallPiece {
    /// Index of the call within the message.
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionPiece>,
}

/// More of a call's name and input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionPiece {
    pub(super) name: Option<String>,
    /// JSON encoded as a string; an object from servers that do not encode it.
    pub(super) arguments: Value,
}

/// Token counts of the answer so far.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenCounts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    /// Cached prompt tokens from `DeepSeek`.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl Delta {
    pub(super) fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let texts = parts.iter().filter_map(|part| part["text"].as_str());
                texts.collect()
            }
            _ => String::new(),
        }
    }

    /// Takes the thinking of this delta.
    pub(super) fn thinking(&mut self) -> String {
        let either = self
            .reasoning_content
            .take()
            .filter(|text| !text.is_empty());
        either.or(self.reasoning.take()).unwrap_or_default()
    }
}

impl TokenCounts {
    /// Merges these counts into `usage`. Counts are cumulative and some servers send them with each
    /// chunk, so the larger value is the newer one. `prompt_tokens` includes cached tokens, which
    /// `usage` counts separately.
    pub(super) fn merge_into(&self, usage: &mut Usage) {
        let details = self.prompt_tokens_details.as_ref();
        let cached = details
            .and_then(|details| details.cached_tokens)
            .or(self.prompt_cache_hit_tokens)
            .unwrap_or(0);
        let prompt = self.prompt_tokens.unwrap_or(0);
        let cached = cached.min(prompt);
        usage.cache_read_input_tokens = usage.cache_read_input_tokens.max(cached);
        usage.input_tokens = usage.input_tokens.max(prompt - cached);
        let written = self.completion_tokens.unwrap_or(0);
        usage.output_tokens = usage.output_tokens.max(written);
    }
}
