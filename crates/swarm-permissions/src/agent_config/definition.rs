//! One agent definition.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use swarm_protocol::{Color, PermissionMode};

use super::{HookSettings, McpServerConfig};

/// What an agent of one type is, as its file, a flag or the program says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentDefinition {
    /// The type, by which a model asks for it.
    pub name: String,
    /// When to use it, for the model that chooses.
    pub description: String,
    /// Its system prompt.
    pub prompt: String,
    /// The tools that it may have.
    pub tools: ToolAllowance,
    /// Tools that it does not get, whatever else says so.
    pub disallowed_tools: Vec<String>,
    /// Its model as it was written; `None` inherits.
    pub model: Option<String>,
    /// How hard it thinks.
    pub effort: Option<String>,
    /// The mode it asks for; the parent's ceiling holds all the same.
    pub permission_mode: Option<PermissionMode>,
    /// Model requests in one turn.
    pub max_turns: Option<u32>,
    /// Skills whose text stands in its first context.
    pub skills: Vec<String>,
    /// MCP servers that it uses.
    pub mcp_servers: Vec<McpUse>,
    /// Hooks that run while it does.
    pub hooks: HookSettings,
    /// Where it keeps what it learns.
    pub memory: Option<MemoryScope>,
    /// Whether it always runs in the background.
    pub background: bool,
    /// Where its files are.
    pub isolation: Option<Isolation>,
    /// Whether it works without the instruction files.
    #[serde(default)]
    pub omit_claude_md: bool,
    /// Its colour.
    pub color: Option<Color>,
    /// Stands before the first prompt where the agent is a conversation of its own.
    pub initial_prompt: Option<String>,
    /// Parts of names of MCP servers without which it is hidden.
    pub required_mcp_servers: Vec<String>,
    /// Where it comes from.
    pub source: AgentSource,
    /// Its file.
    pub path: Option<PathBuf>,
}

impl AgentDefinition {
    /// A definition that restricts nothing.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        prompt: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            prompt: prompt.into(),
            tools: ToolAllowance::All,
            disallowed_tools: Vec::new(),
            model: None,
            effort: None,
            permission_mode: None,
            max_turns: None,
            skills: Vec::new(),
            mcp_servers: Vec::new(),
            hooks: HookSettings::default(),
            memory: None,
            background: false,
            isolation: None,
            omit_claude_md: false,
            color: None,
            initial_prompt: None,
            required_mcp_servers: Vec::new(),
            source: AgentSource::BuiltIn,
            path: None,
        }
    }
}

/// The tools that a definition lets its agent have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolAllowance {
    /// All that the filter layers leave.
    All,
    /// Those alone, as they are written: a name, `mcp__server`, `Agent(type, type)`, `Bash(git:*)`. None, if the list is
    /// empty.
    Only(Vec<String>),
}

/// Where a definition comes from, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentSource {
    /// The machine's policy.
    Managed,
    /// `--agents`.
    Flag,
    /// The repository, nearest directory first.
    Project,
    /// The user's config directory.
    User,
    /// A plugin.
    Plugin,
    /// The program.
    BuiltIn,
}

/// Where an agent keeps what it learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryScope {
    /// Below the config directory.
    User,
    /// In the repository.
    Project,
    /// In the repository, not shared with others.
    Local,
}

/// Where an agent's files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// In a git worktree of its own.
    Worktree,
}

/// An MCP server of a definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum McpUse {
    /// One that the parent has: its connection is shared.
    Shared(String),
    /// One of its own, which ends with it.
    Own(String, McpServerConfig),
}
