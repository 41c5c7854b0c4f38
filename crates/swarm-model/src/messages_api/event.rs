//! The events of a streamed answer, as they are on the wire.

use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::Usage;

/// One event. Types that this client does not know are [`StreamEvent::Unknown`] and ignored.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum StreamEvent {
    MessageStart {
        message: StartedMessage,
    },
    ContentBlockStart {
        index: usize,
        content_block: Value,
    },
    ContentBlockDelta {
        index: usize,
        delta: Delta,
    },
    ContentBlockStop {
        index: usize,
    },
    MessageDelta {
        delta: MessageChange,
        usage: Option<TokenCounts>,
    },
    MessageStop,
    Ping,
    Error {
        error: Value,
        #[serde(default)]
        request_id: Option<String>,
    },
    #[serde(other)]
    Unknown,
}

/// The head of an answer.
#[derive(Debug, Deserialize)]
pub(super) struct StartedMessage {
    pub(super) model: Option<String>,
    pub(super) usage: Option<TokenCounts>,
}

/// More of a content block.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(
    clippy::enum_variant_names,
    reason = "the names are the types on the wire"
)]
pub(super) enum Delta {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Unknown,
}

/// What changed about the message as a whole.
#[derive(Debug, Deserialize)]
pub(super) struct MessageChange {
    pub(super) stop_reason: Option<String>,
}

/// Token counts so far; absent and null mean "no news".
#[derive(Debug, Default, Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the names are the fields on the wire"
)]
pub(super) struct TokenCounts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl TokenCounts {
    /// Merges these counts into `usage`. Counts are cumulative, so the larger one is the later one; some
    /// gateways send zeros in `message_delta` for what they said in `message_start`.
    pub(super) fn merge_into(&self, usage: &mut Usage) {
        let newer = |old: &mut u64, new: Option<u64>| *old = (*old).max(new.unwrap_or(0));
        newer(&mut usage.input_tokens, self.input_tokens);
        newer(&mut usage.output_tokens, self.output_tokens);
        newer(
            &mut usage.cache_read_input_tokens,
            self.cache_read_input_tokens,
        );
        newer(
            &mut usage.cache_creation_input_tokens,
            self.cache_creation_input_tokens,
        );
    }
}
