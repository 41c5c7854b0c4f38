//! Capabilities of a server. The API cannot be asked for them, so they are learned from refusals.

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use swarm_protocol::Effort;

use crate::remote::Refusal;

/// Optional parts of a request that the server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerCapabilities {
    /// Field name of the output token limit.
    pub(super) limit: TokenLimit,
    /// Whether to request token counts at the end of the stream.
    pub(super) counts_tokens: bool,
    /// Highest effort to send.
    pub(super) effort: EffortLimit,
    pub(super) vision: bool,
}

/// Efforts that a server accepts; most models without reasoning refuse the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EffortLimit {
    /// All efforts.
    Highest,
    /// Up to `high`, the highest effort in the API's first version.
    High,
    Omitted,
}

impl EffortLimit {
    /// Returns the value for an effort in a request. The API has no `max`.
    pub(super) fn word(self, effort: Effort) -> Option<&'static str> {
        match (self, effort) {
            (Self::Omitted, _) => None,
            (Self::Highest, Effort::Xhigh | Effort::Max) => Some(HIGHEST),
            (_, effort) => Some(effort.min(Effort::High).name()),
        }
    }
}

/// Highest effort of the API (<https://platform.openai.com/docs/api-reference/chat/create>).
const HIGHEST: &str = "xhigh";

/// Field name of the output token limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TokenLimit {
    /// The original field name, which most servers accept.
    MaxTokens,
    /// The field name for OpenAI's reasoning models, which refuse `max_tokens`.
    MaxCompletionTokens,
    /// No limit is sent: some servers reserve the whole limit and refuse it if it does not fit next
    /// to the prompt.
    Omitted,
}

/// The parts of a refused request that the next one can omit.
#[derive(Deserialize)]
struct Sent {
    max_tokens: Option<IgnoredAny>,
    max_completion_tokens: Option<IgnoredAny>,
    stream_options: Option<IgnoredAny>,
    reasoning_effort: Option<String>,
}

impl ServerCapabilities {
    /// Adapts to a refusal. Returns true if the next request omits or renames the refused part. A
    /// part is never enabled again, so retries terminate.
    pub(super) fn adapt(&mut self, refusal: &Refusal, refused: &Bytes) -> bool {
        // Some servers answer unexpected input with 500, and vLLM uses it for an error in a stream.
        if !matches!(refusal.status, 400 | 422 | 500) {
            return false;
        }
        let has_images = contains(refused, br#""type":"image_url""#);
        if has_images && refusal.says(&["image", "vision", "multimodal", "mmproj"]) {
            self.vision = false;
            return true;
        }
        let Ok(sent) = serde_json::from_slice::<Sent>(refused) else {
            return false;
        };
        if sent.stream_options.is_some() && refusal.says(&["stream_options", "include_usage"]) {
            self.counts_tokens = false;
            return true;
        }
        if let Some(effort) = sent.reasoning_effort
            && refusal.says(&["reasoning_effort", "reasoning effort", "reasoning.effort"])
        {
            self.effort = if effort == HIGHEST {
                EffortLimit::High
            } else {
                EffortLimit::Omitted
            };
            return true;
        }
        if sent.max_tokens.is_some() && refusal.says(&["max_completion_tokens"]) {
            self.limit = self.limit.max(TokenLimit::MaxCompletionTokens);
            return true;
        }
        let is_limited = sent.max_tokens.is_some() || sent.max_completion_tokens.is_some();
        if is_limited && (mentions_token_limit(refusal) || mentions_context_limit(refusal)) {
            self.limit = TokenLimit::Omitted;
            return true;
        }
        false
    }
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

fn mentions_token_limit(refusal: &Refusal) -> bool {
    refusal.says(&["max_tokens", "max_completion_tokens", "max_new_tokens"])
}

/// Whether the prompt, or the prompt plus the output limit, exceeds the context window.
///
/// The phrases are, in this order, from: OpenAI and vLLM, llama.cpp, LM Studio (three),
/// llama-cpp-python, `LiteLLM`, TGI.
pub(super) fn mentions_context_limit(refusal: &Refusal) -> bool {
    let kinds = [refusal.kind.as_str(), refusal.code.as_str()];
    kinds.contains(&"context_length_exceeded")
        || kinds.contains(&"exceed_context_size_error")
        || refusal.says(&[
            "maximum context length",
            "available context size",
            "greater than the context length",
            "context the overflows",
            "context size has been exceeded",
            "exceed context window",
            "contextwindowexceeded",
            "`inputs` tokens + `max_new_tokens`",
            "prompt is too long",
        ])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const DEFAULT: ServerCapabilities = ServerCapabilities {
        limit: TokenLimit::MaxTokens,
        counts_tokens: true,
        effort: EffortLimit::Highest,
        vision: true,
    };

    fn adapt(status: u16, body: &Value, sent: &Value) -> Option<ServerCapabilities> {
        let refusal = Refusal::from_body(status, body.to_string().as_bytes());
        let mut capabilities = DEFAULT;
        capabilities
            .adapt(&refusal, &Bytes::from(sent.to_string()))
            .then_some(capabilities)
    }

    #[test]
    fn parts_that_a_server_refuses_are_omitted_from_later_requests() {
        let sent = json!({"max_tokens": 9, "stream_options": {}});
        let openai = json!({"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter"}});
        assert_eq!(
            adapt(400, &openai, &sent).unwrap().limit,
            TokenLimit::MaxCompletionTokens
        );
        let mistral = json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]});
        assert!(!adapt(422, &mistral, &sent).unwrap().counts_tokens);
        let vllm = json!({"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 32019 tokens (19 in the messages, 32000 in the completion). Please reduce the length of the messages or completion.", "type": "BadRequestError", "param": null, "code": 400});
        assert_eq!(adapt(400, &vllm, &sent).unwrap().limit, TokenLimit::Omitted);
        let large = json!({"error": {"message": "max_tokens is too large: 32000. This model supports at most 4096 completion tokens"}});
        assert_eq!(
            adapt(400, &large, &sent).unwrap().limit,
            TokenLimit::Omitted
        );
    }

    #[test]
    fn a_refused_effort_is_lowered_and_then_omitted() {
        let refused =
            |message: &str| json!({"error": {"message": message, "param": "reasoning_effort"}});
        let value = refused(
            "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model.",
        );
        let lowered = adapt(400, &value, &json!({"reasoning_effort": "xhigh"})).unwrap();
        assert_eq!(lowered.effort.word(Effort::Max), Some("high"));
        let field = refused("Unrecognized request argument supplied: reasoning_effort");
        let given_up = adapt(400, &field, &json!({"reasoning_effort": "high"})).unwrap();
        assert_eq!(given_up.effort.word(Effort::Low), None);
        assert_eq!(adapt(400, &field, &json!({})), None);
        let sent = Effort::ALL.map(|effort| DEFAULT.effort.word(effort).unwrap_or_default());
        assert_eq!(sent, ["low", "medium", "high", "xhigh", "xhigh"]);
    }

    #[test]
    fn refused_images_are_not_sent_again() {
        let refusal = json!({"error": {"message": "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"}});
        let sent = json!({"messages": [{"content": [{"type": "image_url"}]}]});
        assert!(!adapt(500, &refusal, &sent).unwrap().vision);
        assert_eq!(adapt(500, &refusal, &json!({})), None);
    }

    #[test]
    fn a_refusal_about_a_part_that_was_not_sent_changes_nothing() {
        let vllm = json!({"error": {"message": "This model's maximum context length is 4096 tokens. However, your messages have 9000"}});
        assert_eq!(adapt(400, &vllm, &json!({})), None);
        assert_eq!(
            adapt(401, &vllm, &json!({"max_tokens": 9})),
            None,
            "unrelated to the request"
        );
        let other = json!({"error": "bad tool"});
        assert_eq!(
            adapt(400, &other, &json!({"max_tokens": 9, "stream_options": {}})),
            None
        );
    }
}
