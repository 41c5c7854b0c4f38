//! Usage of a model's context window.

use serde::{Deserialize, Serialize};

/// Share of the context window that a conversation occupies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUse {
    /// Size of the conversation in tokens.
    pub tokens: u64,
    /// Size of the window in tokens.
    pub window: u64,
}

impl ContextUse {
    /// Returns the used share in percent.
    pub fn percent(self) -> u64 {
        self.tokens * 100 / self.window.max(1)
    }
}
