//! MCP servers as settings and definitions list them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// MCP servers by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct McpSettings {
    /// The servers.
    pub servers: BTreeMap<String, McpServer>,
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
