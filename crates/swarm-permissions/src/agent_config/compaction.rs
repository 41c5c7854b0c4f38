//! When long conversations are shortened.

use serde::{Deserialize, Serialize};

/// When long conversations are shortened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionSettings {
    /// Percent of the context window at which a conversation is compacted.
    pub at: u32,
    /// Whether old tool results are cleared before, where that frees enough.
    pub clear_tool_results: bool,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            at: 80,
            clear_tool_results: true,
        }
    }
}
