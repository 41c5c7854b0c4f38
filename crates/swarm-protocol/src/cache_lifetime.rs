//! Time for which a model provider caches the prompt of a request.

use serde::{Deserialize, Serialize};

/// Lifetime of a prompt cache entry that is not read. Named as in the Messages API
/// (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CacheLifetime {
    /// Supported by every model.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// Cache writes cost more.
    #[serde(rename = "1h")]
    OneHour,
}

impl CacheLifetime {
    /// All lifetimes, shortest first.
    pub const ALL: [Self; 2] = [Self::FiveMinutes, Self::OneHour];

    /// Returns the name used by the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::OneHour => "1h",
        }
    }
}
