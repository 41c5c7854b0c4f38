//! What a call may use of the world.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_protocol::{AgentId, MemberName, ShellGuards, TeamName};
use tokio_util::sync::CancellationToken;

use crate::{
    AgentShell, BackgroundCommands, CallHost, Checkout, Confinement, FileState, ModeSwitch,
    ProtectedPaths,
};

/// Everything a call is given besides its input. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The working directory, absolute and without symbolic links in it. Relative paths in an input start here, and so does
    /// the first shell command.
    pub cwd: PathBuf,
    /// The environment of shell commands: exactly this, nothing of our own process.
    pub env: Arc<BTreeMap<String, String>>,
    /// What file tools leave alone in every mode.
    pub protected: Arc<ProtectedPaths>,
    /// The repository around the working directory as it was when the agent started; its sub-agents have the same.
    pub checkout: Arc<Checkout>,
    /// The only directory in which this agent writes, where it has one of its own.
    pub confine: Option<Arc<Confinement>>,
    /// What surrounds its shell commands.
    pub guards: Arc<ShellGuards>,
    /// Where its shell is.
    pub shell: Arc<AgentShell>,
    /// Which files this agent has read, and how they were then.
    pub files: Arc<Mutex<FileState>>,
    /// The caller's permission mode, where its tools may change it; filled in per call.
    pub modes: Option<Arc<dyn ModeSwitch>>,
    /// Ends the call when the turn is interrupted.
    pub cancel: CancellationToken,
    /// The directory for output that is too long for a result.
    pub scratch: Option<Arc<Path>>,
    /// Its commands in the background. An agent without them can have none.
    pub commands: Option<Arc<BackgroundCommands>>,
    /// The agent around the call, where there is one; filled in per call.
    pub host: Option<Arc<dyn CallHost>>,
    /// Whether the model takes PDF files as documents; filled in per call.
    pub documents: bool,
    /// Bounds on time and size.
    pub limits: ToolLimits,
    /// The model's id of this call.
    pub tool_use_id: String,
    /// Who calls.
    pub caller: Caller,
}

/// The agent on whose behalf a tool runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its name.
    pub name: MemberName,
    /// Its team, once there is one.
    pub team: Option<TeamName>,
    /// `name@team`, once there is a team.
    pub agent_id: Option<AgentId>,
}

/// Bounds that keep one call from filling memory or a context window, or from running for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolLimits {
    /// Lines that Read returns when the call names no limit.
    pub read_lines: usize,
    /// Characters of one line that Read returns.
    pub read_line_chars: usize,
    /// Characters that Read returns in all; the model is told where to continue.
    pub read_chars: usize,
    /// Paths that Glob returns.
    pub glob_paths: usize,
    /// Lines or entries that Grep returns when the call names no head limit.
    pub grep_entries: usize,
    /// Characters of one line that Grep returns.
    pub grep_line_chars: usize,
    /// Characters that Grep returns in all.
    pub grep_chars: usize,
    /// Characters of a command's output that Bash returns.
    pub bash_chars: usize,
    /// Bytes of a command's output that are kept in a file.
    pub bash_file_bytes: u64,
    /// Time limit of a command that names none.
    pub bash_timeout: Duration,
    /// The longest time limit that a command may name.
    pub bash_timeout_max: Duration,
    /// How long processes that were told to end may take before they are killed.
    pub kill_grace: Duration,
    /// How long to wait for the rest of the output once the shell itself has ended.
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
