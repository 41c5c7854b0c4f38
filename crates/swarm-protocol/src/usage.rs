//! Token usage of model calls, and of their context window.

use std::ops::{AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// Token counts, named as in the Messages API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens neither read from nor written to the prompt cache.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read_input_tokens: u64,
    /// Input tokens written to the prompt cache.
    pub cache_creation_input_tokens: u64,
}

impl Usage {
    /// Returns the sum of all counts.
    pub fn total(self) -> u64 {
        self.input_tokens
            + self.output_tokens
            + self.cache_read_input_tokens
            + self.cache_creation_input_tokens
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_read_input_tokens += other.cache_read_input_tokens;
        self.cache_creation_input_tokens += other.cache_creation_input_tokens;
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, past: Self) -> Self {
        Self {
            input_tokens: self.input_tokens - past.input_tokens,
            output_tokens: self.output_tokens - past.output_tokens,
            cache_read_input_tokens: self.cache_read_input_tokens - past.cache_read_input_tokens,
            cache_creation_input_tokens: self.cache_creation_input_tokens
                - past.cache_creation_input_tokens,
        }
    }
}

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
