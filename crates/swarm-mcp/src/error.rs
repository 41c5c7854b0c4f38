//! What can go wrong with a server.

use std::time::Duration;

/// A server cannot be used, or a call of it has failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// Its program does not start.
    #[error("the program `{command}` cannot be started: {why}")]
    Program {
        /// The program.
        command: String,
        /// What the system says.
        why: String,
    },
    /// It was started or reached and is not a server.
    #[error("it cannot be connected to: {why}{}", with_stderr(.stderr))]
    Connect {
        /// What went wrong.
        why: String,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// It did not answer in time.
    #[error(
        "it did not answer within {} s{}; raise `mcp.start_timeout_s` if it needs longer",
        .within.as_secs_f64(), with_stderr(.stderr)
    )]
    Late {
        /// How long it was given.
        within: Duration,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// The address or a header of a server is not valid.
    #[error("{0}")]
    Address(String),
    /// It ended while it was in use, more often than it is started again.
    #[error("it has ended {times} times; see its log{}", with_stderr(.stderr))]
    Crashed {
        /// How often.
        times: u32,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// It ended, or the connection broke, while a call was under way.
    #[error("it ended during the call, which may have run in part")]
    Broken,
    /// It answered a call with an error of the protocol.
    #[error("{0}")]
    Refused(String),
    /// A call took too long.
    #[error("the call took longer than {} s and was cancelled", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The turn was interrupted.
    #[error("the call was cancelled: the turn was interrupted")]
    Cancelled,
    /// Nobody has configured it.
    #[error("no MCP server has this name; there are: {}", or_none(.0))]
    Unknown(Vec<String>),
    /// Its owner has ended.
    #[error("it was ended with the agent that it belongs to")]
    Closed,
}

impl McpError {
    /// The same with the end of what the server's program wrote to standard error.
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
        format!("; its last words: {line}")
    })
}

fn or_none(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}
