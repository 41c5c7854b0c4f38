//! The configuration of the agents of a process: all of it together.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use swarm_protocol::{ShellGuards, Skill, WebSettings};

use crate::InstructionSettings;

use super::{
    AgentCatalog, AgentLimits, CompactionSettings, HookSettings, McpSettings, ModelNames,
    RequestSettings,
};

/// What applies to the agents of a process besides their rights.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentConfig {
    /// Agent definitions.
    pub agents: AgentCatalog,
    /// Hooks of the settings layers; those of a definition stand in it.
    pub hooks: HookSettings,
    /// The directory in which hooks run: the top of the main checkout, also for agents with a worktree of their own. What
    /// they change there is no program of the user's. `None` is the agent's working directory.
    pub project: Option<PathBuf>,
    /// MCP servers that agents share; inline servers of a definition stand in it.
    pub mcp: McpSettings,
    /// Skills, nearest first where names are the same.
    pub skills: Vec<Skill>,
    /// Bounds of the web tools.
    pub web: WebSettings,
    /// What surrounds shell commands.
    pub shell: ShellGuards,
    /// Bounds of sub-agents.
    pub limits: AgentLimits,
    /// When long conversations are shortened.
    pub compaction: CompactionSettings,
    /// Which instruction files agents read.
    pub instructions: InstructionSettings,
    /// What names of models mean for sub-agents.
    pub models: ModelNames,
    /// What requests to models ask for.
    pub requests: RequestSettings,
}
