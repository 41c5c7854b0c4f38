//! MCP servers of settings and definitions.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// MCP servers by name, and their limits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct McpSettings {
    /// The servers.
    pub servers: BTreeMap<String, McpServer>,
    /// The limits of each server.
    pub bounds: McpBounds,
}

impl McpSettings {
    /// Returns whether an agent whose definition names these servers must wait for one before its
    /// tools are known.
    pub fn requires_wait(&self, uses: &[McpUse]) -> bool {
        let own = uses.iter().any(|server| matches!(server, McpUse::Own(..)));
        own || self.servers.values().any(|server| server.tools.is_none())
    }
}

/// Limits of every server in time and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct McpBounds {
    /// Milliseconds from the start of a server until it has listed its tools.
    pub start_ms: u64,
    /// Timeout of one call in milliseconds.
    pub call_ms: u64,
    /// Maximum characters of one result passed to the model.
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

/// A server and its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// How to reach the server.
    pub config: McpServerConfig,
    /// The file that configures it.
    pub origin: String,
    /// The tools as listed by another process, which allow the connection to be delayed until the
    /// first call. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<McpToolSpec>>,
    /// Whether the server offers resources; valid if its tools are known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resources: bool,
}

/// A tool as listed by its server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToolSpec {
    /// The server's name of the tool.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// JSON Schema of the input.
    pub input_schema: Value,
}

/// How to reach a server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum McpServerConfig {
    /// A program that we start, connected through its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Additional environment variables.
        env: BTreeMap<String, String>,
        /// Whether it always runs in the sandbox of the agent's shell commands, because a
        /// repository configures it.
        #[serde(default)]
        sandboxed: bool,
    },
    /// A running server, over streamable HTTP.
    Http {
        /// The URL.
        url: String,
        /// Additional headers of each request.
        headers: BTreeMap<String, String>,
    },
}

impl McpServerConfig {
    /// Makes a program run in the sandbox.
    pub fn run_in_sandbox(&mut self) {
        if let Self::Stdio { sandboxed, .. } = self {
            *sandboxed = true;
        }
    }
}

impl fmt::Debug for McpServerConfig {
    /// Omits variables and headers, which may hold secrets.
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

/// An MCP server used by a definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum McpUse {
    /// A server of the parent, whose connection is shared.
    Shared(String),
    /// A private server, which stops with the agent.
    Own(String, McpServerConfig),
}
