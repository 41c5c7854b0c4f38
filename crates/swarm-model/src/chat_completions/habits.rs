//! What a server will not have in a request. Nobody can ask for it beforehand, so it is learned from refusals.

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use swarm_protocol::Effort;

use crate::remote::Refusal;

/// Parts of a request that not every server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Habits {
    /// Under which name the limit of output tokens goes.
    pub(super) limit: TokenLimit,
    /// Whether the server is asked to count tokens at the end of the stream.
    pub(super) counts_tokens: bool,
    /// The highest effort that is sent.
    pub(super) effort: EffortLimit,
    /// Whether images are sent.
    pub(super) sees: bool,
}

/// Which efforts a server takes; most models that do not reason refuse the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EffortLimit {
    /// All of them.
    Highest,
    /// Up to `high`, which every server began with.
    High,
    /// None.
    Unsaid,
}

impl EffortLimit {
    /// The word for an effort in a request. `max` is not one of this API's words.
    pub(super) fn word(self, wanted: Effort) -> Option<&'static str> {
        match (self, wanted) {
            (Self::Unsaid, _) => None,
            (Self::Highest, Effort::Xhigh | Effort::Max) => Some(HIGHEST),
            (_, wanted) => Some(wanted.min(Effort::High).name()),
        }
    }
}

/// The highest word for an effort (<https://platform.openai.com/docs/api-reference/chat/create>).
const HIGHEST: &str = "xhigh";

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
    reasoning_effort: Option<String>,
}

impl Habits {
    /// Takes in why a request was refused. True when the next request will lack or rename the refused part. Each part is
    /// given up once and for all, so that asking again comes to an end.
    pub(super) fn learn(&mut self, refusal: &Refusal, refused: &Bytes) -> bool {
        // 500 is how some servers answer what they did not expect, and vLLM's word for an error in a stream.
        if !matches!(refusal.status, 400 | 422 | 500) {
            return false;
        }
        let has_images = contains(refused, br#""type":"image_url""#);
        if has_images && refusal.says(&["image", "vision", "multimodal", "mmproj"]) {
            self.sees = false;
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
                EffortLimit::Unsaid
            };
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

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
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
        effort: EffortLimit::Highest,
        sees: true,
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
    fn an_effort_that_a_server_refuses_is_lowered_and_then_left_out() {
        let refused =
            |message: &str| json!({"error": {"message": message, "param": "reasoning_effort"}});
        let value = refused(
            "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model.",
        );
        let lowered = learn(400, &value, &json!({"reasoning_effort": "xhigh"})).unwrap();
        assert_eq!(lowered.effort.word(Effort::Max), Some("high"));
        let field = refused("Unrecognized request argument supplied: reasoning_effort");
        let given_up = learn(400, &field, &json!({"reasoning_effort": "high"})).unwrap();
        assert_eq!(given_up.effort.word(Effort::Low), None);
        assert_eq!(learn(400, &field, &json!({})), None);
        let sent = Effort::ALL.map(|effort| FRESH.effort.word(effort).unwrap_or_default());
        assert_eq!(sent, ["low", "medium", "high", "xhigh", "xhigh"]);
    }

    #[test]
    fn images_that_a_server_refuses_are_not_sent_again() {
        let refusal = json!({"error": {"message": "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"}});
        let sent = json!({"messages": [{"content": [{"type": "image_url"}]}]});
        assert!(!learn(500, &refusal, &sent).unwrap().sees);
        assert_eq!(learn(500, &refusal, &json!({})), None);
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
