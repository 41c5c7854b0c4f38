//! An agent definition.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use swarm_protocol::{Color, PermissionMode, named_enum};

use super::{HookSettings, McpUse};

/// The definition of an agent type, from a file, a flag or the program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentDefinition {
    /// The type name, used by models.
    pub name: String,
    /// When to use the agent, for the model that selects a type.
    pub description: String,
    /// The system prompt.
    pub prompt: String,
    /// The allowed tools.
    pub tools: ToolAllowance,
    /// Tools that are always removed.
    pub disallowed_tools: Vec<String>,
    /// The model as written; `None` inherits the parent's.
    pub model: Option<String>,
    /// The reasoning effort.
    pub effort: Option<String>,
    /// The requested permission mode, limited by the parent's.
    pub permission_mode: Option<PermissionMode>,
    /// Maximum model requests per turn.
    pub max_turns: Option<u32>,
    /// Skills whose text is part of the initial context.
    pub skills: Vec<String>,
    /// MCP servers that the agent uses.
    pub mcp_servers: Vec<McpUse>,
    /// Hooks that run while the agent does.
    pub hooks: HookSettings,
    /// Where the agent stores its memory.
    pub memory: Option<MemoryScope>,
    /// Whether the agent always runs in the background.
    pub background: bool,
    /// How the agent's files are isolated.
    pub isolation: Option<Isolation>,
    /// Whether the agent starts without the instruction files.
    #[serde(default)]
    pub omit_claude_md: bool,
    /// The display colour.
    pub color: Option<Color>,
    /// Text prepended to the first prompt when the agent runs as a separate conversation.
    pub initial_prompt: Option<String>,
    /// Parts of MCP server names; without matching servers the type is hidden.
    pub required_mcp_servers: Vec<String>,
    /// The source of the definition.
    pub source: AgentSource,
    /// The definition's file.
    pub path: Option<PathBuf>,
}

impl AgentDefinition {
    /// Creates a definition without restrictions.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        prompt: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            prompt: prompt.into(),
            ..Self::default()
        }
    }
}

/// The tools that a definition allows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolAllowance {
    /// All tools that the other filters allow.
    #[default]
    All,
    /// Only these entries, as written: a name, `mcp__server`, `Agent(type, type)` or `Bash(git:*)`.
    /// An empty list allows none.
    Only(Vec<String>),
}

/// The source of a definition, strongest first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum AgentSource {
    /// Managed policy.
    Managed,
    /// `--agents`.
    Flag,
    /// The repository, nearest directory first.
    Project,
    /// The user's config directory.
    User,
    /// A plugin.
    Plugin,
    /// Built in.
    #[default]
    BuiltIn,
}

named_enum! {
    /// Where an agent stores its memory.
    pub enum MemoryScope {
        /// Below the config directory.
        User = "user",
        /// In the repository.
        Project = "project",
        /// In the repository, not committed.
        Local = "local",
    }
}

named_enum! {
    /// How an agent's files are isolated.
    pub enum Isolation {
        /// In a separate git worktree.
        Worktree = "worktree",
        /// On a node of the team's hub.
        Remote = "remote",
    }
}
