//! Limits of tool calls.

use std::time::Duration;

/// Limits that prevent a call from filling memory or the context window, or from running forever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolLimits {
    /// Default number of lines that Read returns.
    pub read_lines: usize,
    /// Maximum characters of one line that Read returns.
    pub read_line_chars: usize,
    /// Maximum characters that Read returns; the result says where to continue.
    pub read_chars: usize,
    /// Maximum number of paths that Glob returns.
    pub glob_paths: usize,
    /// Default number of lines or entries that Grep returns.
    pub grep_entries: usize,
    /// Maximum characters of one line that Grep returns.
    pub grep_line_chars: usize,
    /// Maximum characters that Grep returns.
    pub grep_chars: usize,
    /// Maximum characters of output that Bash returns.
    pub bash_chars: usize,
    /// Maximum size of an output file in bytes.
    pub bash_file_bytes: u64,
    /// Default timeout of a command.
    pub bash_timeout: Duration,
    /// Maximum timeout of a command.
    pub bash_timeout_max: Duration,
    /// Time between SIGTERM and SIGKILL when a command is terminated.
    pub kill_grace: Duration,
    /// How long to wait for remaining output after the shell has exited.
    pub drain_grace: Duration,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            read_lines: 2_000,
            read_line_chars: 2_000,
            read_chars: 100_000,
            glob_paths: 100,
            grep_entries: 250,
            grep_line_chars: 500,
            grep_chars: 40_000,
            bash_chars: 30_000,
            bash_file_bytes: 64 * 1024 * 1024,
            bash_timeout: Duration::from_mins(2),
            bash_timeout_max: Duration::from_mins(10),
            kill_grace: Duration::from_secs(1),
            drain_grace: Duration::from_millis(500),
        }
    }
}
