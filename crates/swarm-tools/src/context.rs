//! Context of a tool call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::{AgentId, MemberName, ShellGuards, TeamName};
use tokio_util::sync::CancellationToken;

use crate::{
    AgentShell, BackgroundCommands, CallHost, Checkout, Confinement, FileHistory, FileState,
    ModeSwitch, ProtectedPaths, ToolLimits,
};

/// Context of a tool call, in addition to its input. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The working directory, absolute and without symbolic links. Relative paths in an input and
    /// the first shell command start here.
    pub cwd: PathBuf,
    /// The complete environment of shell commands; nothing is inherited from this process.
    pub env: Arc<BTreeMap<String, String>>,
    /// Paths that file tools refuse to change in every mode.
    pub protected: Arc<ProtectedPaths>,
    /// The repository of the working directory, as found when the agent started; shared with its
    /// sub-agents.
    pub checkout: Arc<Checkout>,
    /// The only directory in which this agent may write, if it is confined.
    pub confine: Option<Arc<Confinement>>,
    /// Sandbox and shims of shell commands.
    pub guards: Arc<ShellGuards>,
    /// Working directory of its shell.
    pub shell: Arc<AgentShell>,
    /// Files that this agent has read, with their state at that time.
    pub files: Arc<Mutex<FileState>>,
    /// Where earlier contents of changed files are kept, if they are; shared with its sub-agents.
    pub history: Option<Arc<FileHistory>>,
    /// The caller's permission mode, if its tools may change it; set for each call.
    pub modes: Option<Arc<dyn ModeSwitch>>,
    /// Cancels the call when the turn is interrupted.
    pub cancel: CancellationToken,
    /// Directory for output that is too long for a result.
    pub scratch: Option<Arc<Path>>,
    /// Its background commands; `None` if background commands are not available.
    pub commands: Option<Arc<BackgroundCommands>>,
    /// The host of the call, if there is one; set for each call.
    pub host: Option<Arc<dyn CallHost>>,
    /// Whether the model accepts PDF files as documents; set for each call.
    pub documents: bool,
    /// Limits on time and size.
    pub limits: ToolLimits,
    /// The model's id of this call.
    pub tool_use_id: String,
    /// The agent that calls.
    pub caller: Caller,
}

impl ToolContext {
    /// A context with the default limits and without anything optional: no environment variables, no protected paths, no
    /// confinement, no background commands.
    pub fn new(cwd: PathBuf, caller: Caller) -> Self {
        Self {
            cwd,
            env: Arc::default(),
            protected: Arc::default(),
            checkout: Arc::default(),
            confine: None,
            guards: Arc::default(),
            shell: Arc::default(),
            files: Arc::default(),
            history: None,
            modes: None,
            cancel: CancellationToken::new(),
            scratch: None,
            commands: None,
            host: None,
            documents: false,
            limits: ToolLimits::default(),
            tool_use_id: String::new(),
            caller,
        }
    }
}

/// The agent on whose behalf a tool runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Name of the agent.
    pub name: MemberName,
    /// Team of the agent, if it has one.
    pub team: Option<TeamName>,
    /// `name@team`, if there is a team.
    pub agent_id: Option<AgentId>,
}

impl Caller {
    /// An agent without a team.
    pub fn new(name: MemberName) -> Self {
        Self {
            name,
            team: None,
            agent_id: None,
        }
    }
}
