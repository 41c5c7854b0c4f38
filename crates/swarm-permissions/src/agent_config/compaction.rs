//! Settings of conversation compaction.

use serde::{Deserialize, Serialize};

/// When conversations are compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionSettings {
    /// Percentage of the context window at which a conversation is compacted.
    pub at: u32,
    /// Whether old tool results are cleared first, if that frees enough space.
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
