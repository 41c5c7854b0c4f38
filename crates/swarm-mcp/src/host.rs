//! The environment and limits of servers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use swarm_permissions::McpBounds;
use swarm_protocol::partial_debug;
use swarm_tools::ToolContext;

/// The environment of one owner's servers.
#[derive(Clone)]
pub struct McpHost {
    /// Absolute path of the programs' working directory.
    pub cwd: PathBuf,
    /// The environment of the programs, extended only by each server's configuration. It contains
    /// the owner's process markers, so that clean-up finds the programs, and no keys of model
    /// providers. It also provides the proxies for servers reached over HTTP.
    pub env: BTreeMap<String, String>,
    /// The directory for the programs' standard error, one file per server; with `None` only the
    /// end of it is kept, in memory.
    pub logs: Option<PathBuf>,
    /// Limits.
    pub limits: McpLimits,
    /// The agent whose sandbox confines the programs of repositories, and those of the user that
    /// agents can write; `None` runs all without one.
    pub sandbox: Option<ToolContext>,
}

// Omits the environment, which may hold secrets.
partial_debug!(McpHost: cwd, logs, limits);

/// Limits in time and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpLimits {
    /// Timeout from the start of a server until it has listed its tools.
    pub start: Duration,
    /// Timeout of one call.
    pub call: Duration,
    /// Maximum characters of one result that are passed to the model.
    pub result_chars: usize,
    /// Grace period after a program's input is closed, and again after SIGTERM.
    pub grace: Duration,
    /// Maximum bytes of one server's log, which is truncated when full.
    pub log_bytes: u64,
}

impl From<McpBounds> for McpLimits {
    fn from(bounds: McpBounds) -> Self {
        Self {
            start: Duration::from_millis(bounds.start_ms),
            call: Duration::from_millis(bounds.call_ms),
            result_chars: bounds.result_chars,
            grace: Duration::from_secs(2),
            log_bytes: 256 * 1024,
        }
    }
}
