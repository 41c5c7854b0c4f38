//! The configuration of agents besides their rights: definitions, hooks and MCP servers, as they were found and merged
//! from every source. A lead hands all of it to its members, so that each of them knows the same.

mod catalog;
mod compaction;
mod config;
mod definition;
mod hidden;
mod hook_event;
mod hook_matcher;
mod hook_parse;
mod hooks;
mod limits;
mod mcp;
mod mcp_entry;
mod model_names;
mod requests;

pub use catalog::{AgentCatalog, same_agent_type};
pub use compaction::CompactionSettings;
pub use config::AgentConfig;
pub use definition::{AgentDefinition, AgentSource, Isolation, McpUse, MemoryScope, ToolAllowance};
pub use hidden::{denied_type, hidden_type, missing_servers, servers_without_tools};
pub use hook_event::HookEvent;
pub use hooks::{HookAction, HookCommand, HookGroup, HookSettings};
pub use limits::AgentLimits;
pub use mcp::{McpBounds, McpServer, McpServerConfig, McpSettings, McpToolSpec};
pub use model_names::ModelNames;
pub use requests::RequestSettings;
