//! MCP client: tools of MCP servers over stdio and streamable HTTP.
//!
//! [`McpServers`] holds the servers that the agents of one process share: each has one connection
//! and, for stdio, one process. A server that belongs to a single agent stops with that agent's
//! [`AgentServers`].
//!
//! [`serve_tools`] is the other side: it offers tools of this program to an MCP client.

mod error;
mod host;
mod launch;
mod link;
mod name;
mod pool;
mod process;
mod prompts;
mod resource_tools;
mod sdk;
mod server;
mod stderr_log;
mod tool;

pub(crate) use error::Result;
pub use error::{McpError, McpProblem};
pub use host::{McpHost, McpLimits};
pub use name::{server_part, tool_name};
pub use pool::{AgentServers, McpServers, ServerReport};
pub use process::ProcessServers;
pub use sdk::{ServedTools, ToolService, serve_tools};
