//! The complete configuration of the agents of a process.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use swarm_protocol::{
    CacheLifetime, DefaultBudgets, Effort, ShellGuards, Skill, Thinking, WebSettings,
};

use crate::{HandoffScan, InstructionSettings};

use super::{AgentCatalog, AgentDefinition, HookSettings, McpSettings, ModelNames};

/// The configuration of the agents of a process, except for their permissions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentConfig {
    /// Agent definitions.
    pub agents: AgentCatalog,
    /// Hooks of the settings; hooks of definitions are part of `agents`.
    pub hooks: HookSettings,
    /// The working directory of hooks: the top of the main checkout, even for agents in a worktree,
    /// because an agent could change the programs in its worktree. `None` uses the agent's working
    /// directory.
    pub project: Option<PathBuf>,
    /// Shared MCP servers; private servers of definitions are part of `agents`.
    pub mcp: McpSettings,
    /// Skills, nearest first if several share a name.
    pub skills: Vec<Skill>,
    /// Limits of the web tools.
    pub web: WebSettings,
    /// The guards around shell commands.
    pub shell: ShellGuards,
    /// Limits of sub-agents.
    pub limits: AgentLimits,
    /// When conversations are compacted.
    pub compaction: CompactionSettings,
    /// The instruction files that agents read.
    pub instructions: InstructionSettings,
    /// The model names for sub-agents.
    pub models: ModelNames,
    /// Budgets of runs, teams, members and tasks without their own.
    pub budgets: DefaultBudgets,
    /// The options of model requests.
    pub requests: RequestSettings,
    /// What happens to texts of other agents in which a risk is found.
    pub handoff: HandoffScan,
    /// Whether the agent of the process is a coordinator.
    pub coordinator: bool,
    /// The directory that the members of the team, or the workers of a coordinator, share and in
    /// which they may write without permission; absolute.
    pub scratchpad: Option<PathBuf>,
}

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

/// The options of all model requests of a process, unless a definition or call overrides them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestSettings {
    /// Whether models think before they answer.
    pub thinking: Thinking,
    /// Reasoning effort; `None` uses the model's default.
    pub effort: Option<Effort>,
    /// Lifetime of the provider's prompt cache, if the provider supports the choice.
    pub cache: CacheLifetime,
    /// The full name of the model used while an agent's own model is overloaded.
    pub fallback: Option<String>,
}

impl RequestSettings {
    /// Returns the effort of an agent with this definition.
    pub fn effort_of(&self, definition: Option<&AgentDefinition>) -> Option<Effort> {
        let own = definition.and_then(|definition| definition.effort.as_deref());
        own.and_then(|word| word.parse().ok()).or(self.effort)
    }
}
