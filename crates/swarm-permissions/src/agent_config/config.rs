//! The complete configuration of the agents of a process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use swarm_protocol::{DefaultBudgets, ShellGuards, Skill, WebSettings};

use crate::{HandoffScan, InstructionSettings};

use super::{
    AgentCatalog, AgentLimits, CompactionSettings, HookSettings, McpSettings, ModelNames,
    RequestSettings,
};

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
