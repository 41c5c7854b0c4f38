//! How many sub-agents there may be, and how far each may go.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bounds of the sub-agents of one process: of a lead's, or of a teammate's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentLimits {
    /// Sub-agents that may stand above one another: 1 lets no sub-agent have one of its own, 0 allows none at all.
    pub max_depth: u32,
    /// Sub-agents that run at once.
    pub max_concurrent: usize,
    /// Sub-agents of one parent that run at once.
    pub max_per_parent: usize,
    /// Sub-agents that are started in the life of the process.
    pub max_total: u64,
    /// Model requests in one turn of a sub-agent whose definition says nothing of it.
    pub max_turns: u32,
    /// Characters of one tool's output that a sub-agent reads, and of a sub-agent's result that its parent reads.
    pub output_chars: usize,
    /// Seconds after which a sub-agent in the foreground goes to the background; 0 never.
    pub background_after_s: u64,
    /// Seconds without a word of the model after which a sub-agent in the background has failed; 0 never.
    pub stall_s: u64,
    /// Whether a call that names no type forks.
    pub fork: bool,
}

impl AgentLimits {
    /// After how long a sub-agent in the foreground goes to the background.
    pub fn background_after(&self) -> Option<Duration> {
        (self.background_after_s > 0).then(|| Duration::from_secs(self.background_after_s))
    }

    /// After how long without a word of the model a sub-agent in the background has failed.
    pub fn stall(&self) -> Option<Duration> {
        (self.stall_s > 0).then(|| Duration::from_secs(self.stall_s))
    }

    /// Sub-agents that run at once on a machine of this many cores, where nobody says otherwise.
    pub fn concurrent_on(cores: usize) -> usize {
        cores.saturating_mul(4).clamp(4, 20)
    }
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            max_depth: 3,
            max_concurrent: Self::concurrent_on(1),
            max_per_parent: Self::concurrent_on(1),
            max_total: 200,
            max_turns: 200,
            output_chars: 50_000,
            background_after_s: 0,
            stall_s: 600,
            fork: false,
        }
    }
}
