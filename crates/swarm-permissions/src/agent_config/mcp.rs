//! MCP servers as settings and definitions list them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AgentDefinition, McpUse};

/// MCP servers by name, and their bounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct McpSettings {
    /// The servers.
    pub servers: BTreeMap<String, McpServer>,
    /// What they may take.
    pub bounds: McpBounds,
}

impl McpSettings {
    /// Whether an agent of this definition has to wait for a server before its tools are known.
    pub fn makes_wait(&self, definition: Option<&AgentDefinition>) -> bool {
        let own = definition.is_some_and(|definition| {
            let mut uses = definition.mcp_servers.iter();
            uses.any(|server| matches!(server, McpUse::Own(..)))
        });
        own || self.servers.values().any(|server| server.tools.is_none())
    }
}

/// Bounds of every server in time and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct McpBounds {
    /// Milliseconds that a server may take from its start until it has listed its tools.
    pub start_ms: u64,
    /// Milliseconds that one call may take.
    pub call_ms: u64,
    /// Characters of one result that a model is shown.
    pub result_chars: usize,
}

impl Default for McpBounds {
    fn default() -> Self {
        Self {
            start_ms: 30_000,
            call_ms: 600_000,
            result_chars: 50_000,
        }
    }
}

/// A server and where it was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// How it is reached.
    pub config: McpServerConfig,
    /// The file it stands in.
    pub origin: String,
    /// Its tools, as somebody else's process has listed them: who has them may wait with a connection of its own until
    /// the first call. `None` if nobody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<McpToolSpec>>,
    /// Whether it offers resources; known with its tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resources: bool,
}

/// A tool as its server lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToolSpec {
    /// The server's name for it.
    pub name: String,
    /// What the model is told about it.
    pub description: String,
    /// JSON Schema of the input.
    pub input_schema: Value,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum McpServerConfig {
    /// A program that we start and speak to over its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Further variables for it.
        env: BTreeMap<String, String>,
    },
    /// A server that runs already, over streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Further headers of each request.
        headers: BTreeMap<String, String>,
    },
}

impl fmt::Debug for McpServerConfig {
    /// Without variables and headers, which hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, .. } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", args)
                .finish_non_exhaustive(),
            Self::Http { url, .. } => f
                .debug_struct("Http")
                .field("url", url)
                .finish_non_exhaustive(),
        }
    }
}
