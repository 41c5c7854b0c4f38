//! How long a model server keeps the prompt of a request.

use serde::{Deserialize, Serialize};

/// How long the server's prompt cache keeps what nobody reads. The words are those of the Messages API
/// (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CacheLifetime {
    /// What every model has.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// Writing to the cache costs more.
    #[serde(rename = "1h")]
    OneHour,
}

impl CacheLifetime {
    /// Both, shorter first.
    pub const ALL: [Self; 2] = [Self::FiveMinutes, Self::OneHour];

    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::OneHour => "1h",
        }
    }
}
