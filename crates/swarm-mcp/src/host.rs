//! Where servers run and what they may take.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use swarm_permissions::McpBounds;

/// What the servers of one owner are started with.
#[derive(Clone)]
pub struct McpHost {
    /// The working directory of started programs, absolute.
    pub cwd: PathBuf,
    /// The environment of started programs: exactly this and what a server's own configuration adds. It holds the marks of
    /// the owner, so that whoever ends the owner's processes finds them, and no keys of model providers. Proxies of servers
    /// that are reached over HTTP are taken from it too.
    pub env: BTreeMap<String, String>,
    /// The directory for what programs write to standard error, one file for each server; `None` keeps only the end of it in
    /// memory.
    pub logs: Option<PathBuf>,
    /// Bounds.
    pub limits: McpLimits,
}

impl fmt::Debug for McpHost {
    /// Without the environment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpHost")
            .field("cwd", &self.cwd)
            .field("logs", &self.logs)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Bounds in time and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpLimits {
    /// How long a server may take from its start until it has listed its tools.
    pub start: Duration,
    /// How long one call may take.
    pub call: Duration,
    /// Characters of one result that the model is shown.
    pub result_chars: usize,
    /// How long a program may take to end once its input is closed, and again after SIGTERM.
    pub grace: Duration,
    /// Bytes of one server's log; the older half is dropped beyond them.
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
