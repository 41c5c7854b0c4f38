//! Limits of sub-agents.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of the sub-agents of one process (a lead's or a teammate's).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentLimits {
    /// Maximum nesting depth: 1 forbids sub-agents of sub-agents, 0 forbids all.
    pub max_depth: u32,
    /// Maximum concurrent sub-agents.
    pub max_concurrent: usize,
    /// Maximum concurrent sub-agents of one parent.
    pub max_per_parent: usize,
    /// Maximum sub-agents in the lifetime of the process.
    pub max_total: u64,
    /// Default maximum of model requests per turn of a sub-agent.
    pub max_turns: u32,
    /// Maximum characters of a tool's output for a sub-agent, and of a sub-agent's result for its
    /// parent.
    pub output_chars: usize,
    /// Seconds after which a foreground sub-agent moves to the background; 0 disables this.
    pub background_after_s: u64,
    /// Seconds without model output after which a background sub-agent counts as failed; 0 disables
    /// this.
    pub stall_s: u64,
    /// Whether a call without a type forks.
    pub fork: bool,
}

impl AgentLimits {
    /// Returns the time after which a foreground sub-agent moves to the background.
    pub fn background_after(&self) -> Option<Duration> {
        (self.background_after_s > 0).then(|| Duration::from_secs(self.background_after_s))
    }

    /// Returns the time without model output after which a background sub-agent counts as failed.
    pub fn stall(&self) -> Option<Duration> {
        (self.stall_s > 0).then(|| Duration::from_secs(self.stall_s))
    }

    /// Returns the default number of concurrent sub-agents for a number of cores.
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
