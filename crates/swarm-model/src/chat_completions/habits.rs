//! What a server will not have in a request. Nobody can ask for it beforehand, so it is learned from refusals.

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::remote::Refusal;

/// Parts of a request that not every server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Habits {
    /// Under which name the limit of output tokens goes.
    pub(super) limit: TokenLimit,
    /// Whether the server is asked to count tokens at the end of the stream.
    pub(super) counts_tokens: bool,
}

/// The name of the limit of output tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TokenLimit {
    /// The name that every server began with.
    MaxTokens,
    /// The name for OpenAI's reasoning models, which refuse the other one.
    MaxCompletionTokens,
    /// None: servers that take the limit for a wish refuse what would not fit beside the prompt.
    Unsaid,
}

/// The parts of a request that can be left out of the next one.
#[derive(Deserialize)]
struct Sent {
    max_tokens: Option<IgnoredAny>,
    max_completion_tokens: Option<IgnoredAny>,
    stream_options: Option<IgnoredAny>,
}

impl Habits {
    /// Takes in why a request was refused. True when the next request will lack or rename the refused part. Each part is
    /// given up once and for all, so that asking again comes to an end.
    pub(super) fn learn(&mut self, refusal: &Refusal, refused: &Bytes) -> bool {
        // 500 is how some servers answer what they did not expect, and vLLM's word for an error in a stream.
        if !matches!(refusal.status, 400 | 422 | 500) {
            return false;
        }
        let Ok(sent) = serde_json::from_slice::<Sent>(refused) else {
            return false;
        };
        if sent.stream_options.is_some() && refusal.says(&["stream_options", "include_usage"]) {
            self.counts_tokens = false;
            return true;
        }
        if sent.max_tokens.is_some() && refusal.says(&["max_completion_tokens"]) {
            self.limit = self.limit.max(TokenLimit::MaxCompletionTokens);
            return true;
        }
        let is_limited = sent.max_tokens.is_some() || sent.max_completion_tokens.is_some();
        if is_limited && (names_limit(refusal) || names_context(refusal)) {
            self.limit = TokenLimit::Unsaid;
            return true;
        }
        false
    }
}

fn names_limit(refusal: &Refusal) -> bool {
    refusal.says(&["max_tokens", "max_completion_tokens", "max_new_tokens"])
}

/// Whether the prompt, or the prompt and the room for the answer together, are too much for the model.
///
/// The words, in this order, of: OpenAI and vLLM, llama.cpp, LM Studio (three), llama-cpp-python, `LiteLLM`, TGI.
pub(super) fn names_context(refusal: &Refusal) -> bool {
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

    const FRESH: Habits = Habits {
        limit: TokenLimit::MaxTokens,
        counts_tokens: true,
    };

    fn learn(status: u16, body: &Value, sent: &Value) -> Option<Habits> {
        let refusal = Refusal::from_body(status, body.to_string().as_bytes());
        let mut habits = FRESH;
        habits
            .learn(&refusal, &Bytes::from(sent.to_string()))
            .then_some(habits)
    }

    #[test]
    fn what_a_server_does_not_take_is_left_out_from_then_on() {
        let sent = json!({"max_tokens": 9, "stream_options": {}});
        let openai = json!({"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter"}});
        assert_eq!(
            learn(400, &openai, &sent).unwrap().limit,
            TokenLimit::MaxCompletionTokens
        );
        let mistral = json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]});
        assert!(!learn(422, &mistral, &sent).unwrap().counts_tokens);
        let vllm = json!({"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 32019 tokens (19 in the messages, 32000 in the completion). Please reduce the length of the messages or completion.", "type": "BadRequestError", "param": null, "code": 400});
        assert_eq!(learn(400, &vllm, &sent).unwrap().limit, TokenLimit::Unsaid);
        let large = json!({"error": {"message": "max_tokens is too large: 32000. This model supports at most 4096 completion tokens"}});
        assert_eq!(learn(400, &large, &sent).unwrap().limit, TokenLimit::Unsaid);
    }

    #[test]
    fn a_part_that_was_not_sent_is_nothing_to_learn_from() {
        let vllm = json!({"error": {"message": "This model's maximum context length is 4096 tokens. However, your messages have 9000"}});
        assert_eq!(learn(400, &vllm, &json!({})), None);
        assert_eq!(
            learn(401, &vllm, &json!({"max_tokens": 9})),
            None,
            "not a matter of the request"
        );
        let other = json!({"error": "bad tool"});
        assert_eq!(
            learn(400, &other, &json!({"max_tokens": 9, "stream_options": {}})),
            None
        );
    }
}
