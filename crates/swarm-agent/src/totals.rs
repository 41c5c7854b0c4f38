//! Sums over a conversation.

use swarm_protocol::Usage;

/// What a turn, or a whole conversation, has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Tokens.
    pub usage: Usage,
    /// Answers of the model.
    pub requests: u64,
    /// Tool calls that the model made.
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
    /// What came on top of `earlier`, an older sum of the same conversation.
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
