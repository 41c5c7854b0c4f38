//! How full a model's context window is.

use serde::{Deserialize, Serialize};

/// How much of a context window a conversation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUse {
    /// Tokens of the conversation.
    pub tokens: u64,
    /// Tokens that the window has.
    pub window: u64,
}

impl ContextUse {
    /// The share in use.
    pub fn percent(self) -> u64 {
        self.tokens * 100 / self.window.max(1)
    }
}
