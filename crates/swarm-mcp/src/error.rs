//! Errors of MCP servers.

use std::fmt;
use std::time::Duration;

pub(crate) type Result<T, E = McpError> = std::result::Result<T, E>;

/// A server is unusable, or a call to it failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The program did not start.
    #[error("cannot start the program `{command}`: {why}")]
    Program {
        /// The program.
        command: String,
        /// The operating system's error.
        why: String,
    },
    /// The server was started or reached, but the handshake failed.
    #[error("cannot connect: {why}{}", with_stderr(.stderr))]
    Connect {
        /// The cause.
        why: String,
        /// The end of the program's standard error.
        stderr: String,
    },
    /// The server did not respond in time.
    #[error(
        "no response within {} s{}; increase `mcp.start_timeout_s` if the server needs longer",
        .within.as_secs_f64(), with_stderr(.stderr)
    )]
    Late {
        /// The timeout.
        within: Duration,
        /// The end of the program's standard error.
        stderr: String,
    },
    /// The URL or a header of the server is invalid.
    #[error("{0}")]
    Address(String),
    /// The server exited unexpectedly more often than it is restarted.
    #[error("the server exited unexpectedly {times} times; see its log{}", with_stderr(.stderr))]
    Crashed {
        /// Number of unexpected exits.
        times: u32,
        /// The end of the program's standard error.
        stderr: String,
    },
    /// The server exited, or the connection broke, during a call.
    #[error("the server exited during the call, which may have been partially executed")]
    Broken,
    /// The server answered with a protocol error.
    #[error("{0}")]
    Refused(String),
    /// The call timed out.
    #[error("the call timed out after {} s and was cancelled", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The turn was interrupted.
    #[error("the call was cancelled: the turn was interrupted")]
    Cancelled,
    /// The server is not configured.
    #[error("no MCP server has this name; configured servers: {}", or_none(.0))]
    Unknown(Vec<String>),
    /// The server's owner was stopped.
    #[error("the server was stopped together with its agent")]
    Closed,
}

impl McpError {
    pub(crate) fn connect(why: impl fmt::Display) -> Self {
        Self::Connect {
            why: why.to_string(),
            stderr: String::new(),
        }
    }

    /// Adds the end of the program's standard error.
    pub(crate) fn with_stderr(mut self, text: String) -> Self {
        if let Self::Connect { stderr, .. } | Self::Late { stderr, .. } = &mut self {
            *stderr = text;
        }
        self
    }
}

fn with_stderr(stderr: &str) -> String {
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(String::new, |line| {
        let line: String = line.trim().chars().take(200).collect();
        format!("; last line of stderr: {line}")
    })
}

pub(crate) fn or_none(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}

/// A server or tool that is unavailable to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpProblem {
    /// The server's name.
    pub server: String,
    /// Where the server is configured or requested.
    pub origin: String,
    /// The cause.
    pub why: String,
}

impl McpProblem {
    pub(crate) fn new(server: &str, origin: &str, why: impl fmt::Display) -> Self {
        Self {
            server: server.to_owned(),
            origin: origin.to_owned(),
            why: why.to_string(),
        }
    }
}

impl fmt::Display for McpProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (server, origin) = (self.server.escape_debug(), &self.origin);
        write!(f, "MCP server `{server}` ({origin}): {}", self.why)
    }
}
