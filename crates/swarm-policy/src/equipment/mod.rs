//! What agents are equipped with besides rights: definitions, hooks and MCP servers, as they were found and merged
//! from every source. A lead hands all of it to its members, so that each of them knows the same.

mod catalog;
mod definition;
mod hooks;
mod mcp;

pub use catalog::AgentCatalog;
pub use definition::{AgentDefinition, AgentSource, Isolation, McpUse, MemoryScope, ToolAllowance};
pub use hooks::{HookCommand, HookEvent, HookGroup, HookSettings};
pub use mcp::{McpServer, McpServerConfig, McpSettings};

use serde::{Deserialize, Serialize};

/// Everything that a process can equip its agents with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Equipment {
    /// Agent definitions.
    pub agents: AgentCatalog,
    /// Hooks of the settings layers; those of a definition stand in it.
    pub hooks: HookSettings,
    /// MCP servers that agents share; inline servers of a definition stand in it.
    pub mcp: McpSettings,
}
