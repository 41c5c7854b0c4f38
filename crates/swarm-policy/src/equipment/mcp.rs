//! MCP servers as settings and definitions list them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

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
