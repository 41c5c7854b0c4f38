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
        Self {
            usage: self.usage - earlier.usage,
            requests: self.requests - earlier.requests,
            tool_calls: self.tool_calls - earlier.tool_calls,
        }
    }
}
