//! The configuration of agents except for their permissions: definitions, hooks and MCP servers,
//! merged from all sources. A lead passes it to its members, so that all have the same
//! configuration.

mod catalog;
mod config;
mod definition;
mod hidden;
mod hook_matcher;
mod hook_parse;
mod hooks;
mod mcp;
mod mcp_entry;
mod model_names;

pub use catalog::{AgentCatalog, same_agent_type};
pub use config::{AgentConfig, AgentLimits, CompactionSettings, RequestSettings};
pub use definition::{AgentDefinition, AgentSource, Isolation, MemoryScope, ToolAllowance};
pub use hidden::{denied_type, hidden_type, missing_servers, servers_without_tools};
pub use hooks::{HookAction, HookCommand, HookEvent, HookGroup, HookSettings};
pub use mcp::{McpBounds, McpServer, McpServerConfig, McpSettings, McpToolSpec, McpUse};
pub use model_names::ModelNames;
