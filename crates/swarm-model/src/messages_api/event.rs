//! Wire format of the events of a streamed answer.

use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::Usage;

use crate::model::StopReason;

/// One event. Unknown types become [`StreamEvent::Unknown`] and are ignored.
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
        request_id: Option<String>,
    },
    #[serde(other)]
    Unknown,
}

/// The message in `message_start`.
#[derive(Debug, Deserialize)]
pub(super) struct StartedMessage {
    pub(super) model: Option<String>,
    pub(super) usage: Option<TokenCounts>,
}

/// The next part of a content block.
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

/// Changes of message-level fields.
#[derive(Debug, Deserialize)]
pub(super) struct MessageChange {
    pub(super) stop_reason: Option<StopReason>,
}

/// Token counts so far; absent and null mean unchanged.
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
    /// Merges these counts into `usage`. Counts are cumulative, so the larger value is the newer
    /// one; some gateways send zeros in `message_delta` for values that `message_start` contained.
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
