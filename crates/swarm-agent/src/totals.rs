//! Usage totals of a conversation.

use serde::{Deserialize, Serialize};
use swarm_protocol::Usage;

/// Usage of a turn or of a whole conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Tokens of all requests.
    pub usage: Usage,
    /// Number of model responses.
    pub requests: u64,
    /// Number of tool calls.
    pub tool_calls: u64,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.usage += other.usage;
        self.requests += other.requests;
        self.tool_calls += other.tool_calls;
    }
}

impl Totals {
    /// Returns the difference to `earlier`, an older total of the same conversation.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let (usage, past) = (self.usage, earlier.usage);
        Self {
            usage: Usage {
                input_tokens: usage.input_tokens - past.input_tokens,
                output_tokens: usage.output_tokens - past.output_tokens,
                cache_read_input_tokens: usage.cache_read_input_tokens
                    - past.cache_read_input_tokens,
                cache_creation_input_tokens: usage.cache_creation_input_tokens
                    - past.cache_creation_input_tokens,
            },
            requests: self.requests - earlier.requests,
            tool_calls: self.tool_calls - earlier.tool_calls,
        }
    }
}
